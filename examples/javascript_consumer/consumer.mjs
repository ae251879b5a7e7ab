// A consumer of Workbell's runs in JavaScript, written from docs/protocol.md alone: it takes runs from a D1 database through the
// bridge, renews their leases, and finishes them, tries them again or fails them. Node.js 20 or newer, and no packages.
//
//   BRIDGE=https://workbell-bridge.YOUR.workers.dev TOKEN=… node consumer.mjs handlers.mjs
import { getRandomValues, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const { BRIDGE, TOKEN, LEASE = "30", POLL = "1" } = process.env; // the last two in seconds
const [file] = process.argv.slice(2);
if (!BRIDGE || !TOKEN || !file) refuse("usage: BRIDGE=https://… TOKEN=… node consumer.mjs handlers.mjs");
if (!/^https:|^http:\/\/(127\.|localhost)/.test(BRIDGE)) refuse("BRIDGE: over http:// the token could be read; use https://");
const handlers = (await import(pathToFileURL(path.resolve(file)))).default;
const worker = `${hostname()}/${process.pid}/${randomUUID()}`; // new with every start
const lease = Number(LEASE) * 1000;
const RETRY = { attempts: 3, delay: 1, factor: 2, cap: 60, jitter: 0.1, give_up_on: [], only_on: [] };
const DAYS = { succeeded: 7, failed: 30, canceled: 30 }; // that a run is kept
const RUN = `id lane status rank scheduled_for created_at updated_at attempt failures losses crashes suspect alone token
  lease_until worker cancel_requested started_at input options tag key user_id schedule event retry_of rescheduled_from accepted_by
  expires_at progress error reason`.split(/\s+/);
const JOB = `id tenant name source handler queue description input priority retry timeout options concurrency
  concurrency_key rate rate_key processor alert_url ping_url enabled version created_at updated_at`.split(/\s+/);
const STARTED = RUN.filter((name) => !["status", "updated_at", "token", "lease_until", "worker", "started_at"].includes(name));
const lanes = new Map(); // by id: what a survey said of it
let set, ahead = 0, stopping = false;

function refuse(text) {
  console.error(text);
  process.exit(2);
}

// Calls to the bridge

async function call(route, body) {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const request = { headers, method: body ? "POST" : "GET", body: body && JSON.stringify(body), signal: AbortSignal.timeout(15_000) };
  const answer = await fetch(BRIDGE + route, request);
  const told = JSON.parse(exact(await answer.text())); // a page for people is no JSON: nobody knows what was done
  if (told.time) ahead = told.time - Date.now();
  if (answer.ok) return told;
  throw Object.assign(new Error(`HTTP ${answer.status} ${told.code}: ${told.message}`), { code: told.code });
}

const batch = async (...statements) => (await call("/v1/batch", { set, batch: statements })).answers;
// Numbers that JavaScript would round, such as the ids of lanes, stay texts. Tokens and times fit.
const exact = (text) => text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}/g, (found) => (found[0] === '"' || Number.isSafeInteger(Number(found)) ? found : `"${found}"`));
const now = () => (Date.now() + ahead) * 1000; // microseconds, by the bridge's clock
const whole = (number) => [String(number)]; // an integer on the wire
const rows = (...listed) => ({ rows: JSON.stringify(listed) });

// Claim

// A new token for every claim, from 1 to 2^53 - 1: a counter would start again with an older copy of the database.
function newToken() {
  const [high, low] = getRandomValues(new Uint32Array(2));
  return (high >>> 11) * 2 ** 32 + low || newToken();
}

async function claim() {
  const time = now();
  const due = ["dispatch", { now: whole(time), limit: whole(500), from_status: "scheduled", to_status: "queued" }];
  const [, heads, tenants] = await batch(due, ["survey", { after: whole(-1), limit: whole(500) }], ["tenants", {}]);
  const limited = new Set(tenants.filter(([, , , , , concurrency, rate]) => concurrency ?? rate).map(([name]) => name));
  heads.sort((one, other) => one[1] - other[1] || Math.random() - 0.5); // the lowest rank first
  for (const [lane, rank, tenant, , job, target] of heads) {
    if (target !== null || limited.has(tenant) || !Object.hasOwn(handlers, job)) continue; // never what it cannot run
    const [[definition]] = await batch(["find_job", { tenant, name: job }]);
    const { retry, timeout, concurrency, rate, enabled } = definition ? named(definition, JOB) : { enabled: 1 };
    if (!enabled || (concurrency ?? rate)) continue; // limits have steps of their own, which others keep to
    lanes.set(lane, { tenant, job, retry, timeout });
    const token = newToken();
    const term = { worker, token: whole(token), now: whole(time), lease_until: whole(time + lease * 1000) };
    const [[row]] = await batch(["claim", { lane: whole(lane), rank: whole(rank), quota: whole(1), ...term, from_status: "queued", to_status: "running" }]);
    if (row) return { ...held(row, STARTED), token, lease_until: time + lease * 1000 };
  }
}

const named = (row, names) => Object.fromEntries(names.map((name, place) => [name, row[place]]));

const held = (row, names) => {
  const run = named(row, names);
  return { ...lanes.get(run.lane), ...run, options: JSON.parse(run.options ?? "{}") };
};

// Keep the window of a run that a schedule's tick made: it is judged right before the handler would be called

const OUTSIDE = "outside the window";

function closed(run) {
  const { window } = run.schedule === null ? {} : run.options;
  if (!window) return;
  const { start, end, timezone, outside } = window;
  const wall = new Intl.DateTimeFormat("en-GB", { timeZone: timezone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const open = (at) => ((shown) => (start < end ? start <= shown && shown < end : start <= shown || shown < end))(wall.format(at));
  const early = run.scheduled_for - now(); // another clock, a little ahead, may have queued it
  let at = (0 < early && early <= 1e6 ? run.scheduled_for : now()) / 1000;
  if (open(at)) return;
  if (outside === "skip") return canceled(run, "window");
  while (!open(at)) at = (Math.floor(at / 60_000) + 1) * 60_000; // clocks change, and windows open, on whole minutes
  return { status: "scheduled", until: at * 1000, error: run.error, reason: OUTSIDE, failures: run.failures };
}

// Execute, and renew meanwhile

async function execute(run) {
  const shut = closed(run);
  if (shut) return book(run, null, shut);
  if (run.suspect) await batch(["mark_alone", { id: run.id, token: whole(run.token), yes: whole(1) }]);
  const stop = new AbortController();
  const started = now();
  run.until = Number(run.lease_until);
  const renewing = setInterval(() => renew(run, stop), Math.min(lease / 5, 1000));
  const timeout = run.options.timeout ?? run.timeout;
  const late = timeout ? setTimeout(() => stop.abort("timeout"), timeout * 1000) : undefined;
  let outcome;
  try {
    const result = await handlers[run.job](JSON.parse(run.input ?? "{}"), { run, signal: stop.signal });
    outcome = { status: "succeeded", result: JSON.stringify(result ?? null), failures: run.failures };
  } catch (error) {
    outcome = stop.signal.aborted && stop.signal.reason !== "timeout" ? canceled(run, stop.signal.reason) : failed(run, error, stop.signal.reason ?? "error");
  }
  clearInterval(renewing);
  clearTimeout(late);
  if (stop.signal.reason === "lost") return console.log(`${run.id} lost: its outcome is dropped`);
  await book(run, started, outcome);
}

async function renew(run, stop) {
  const until = now() + lease * 1000;
  try {
    const [[renewed]] = await batch(["renew", { ...rows([run.id, run.token, "running"]), taken: whole(0), lease_until: whole(until) }]);
    if (!renewed) return stop.abort("lost");
    run.until = until;
    if (renewed[2] !== null) stop.abort(renewed[2]); // its end was asked for
  } catch (error) {
    if (now() > run.until) stop.abort("lost");
    console.error(`${run.id} not renewed: ${error.message}`);
  }
}

// Finish

const canceled = (run, reason) => ({ status: "canceled", reason, error: run.error, failures: run.failures });

function failed(run, error, reason) {
  const policy = { ...RETRY, ...JSON.parse(run.retry ?? "{}"), ...run.options.retry };
  const failures = run.failures + 1;
  const among = (names) => names.includes(error?.name);
  const again = failures < policy.attempts && !among(policy.give_up_on) && (!policy.only_on.length || among(policy.only_on));
  const wait = Math.min(policy.delay * policy.factor ** (failures - 1), policy.cap) * (1 + policy.jitter * Math.random());
  return { status: again ? "scheduled" : "failed", error: String(error).replaceAll("\0", "�").slice(0, 16_000), reason, failures, wait };
}

async function book(run, started, { status, result = null, error = null, reason = null, failures, wait, until }) {
  const at = now();
  const due = until ?? Math.round(at + (wait ?? 0) * 1e6);
  const attempt = until ? run.attempt - 1 : run.attempt; // put off: as if it had never been claimed
  const guard = [run.id, "running", run.token, status];
  const kept = (run.options.remove_delay ?? DAYS[status] * 86_400) * 1e6;
  const statements = status === "scheduled"
    ? [
        ["move", rows([...guard, due, at, attempt, failures, run.losses, run.crashes, 0, null, null, null, error, reason, until ? Number(run.suspect) : 0]), 1],
        ...(until ? [] : [["add_attempts", rows([run.id, attempt, "failed", started, at, worker, error, null, run.token])]]),
      ]
    : [
        ["finish", rows([...guard, failures, run.losses, run.crashes, started, error, reason, at, result, at + kept]), 1],
        ["remove_live", { ids: JSON.stringify([run.id]) }],
      ];
  if (status !== "scheduled" && run.key !== null) statements.push(["free_keys", rows([run.tenant, run.key, run.id])]);
  const word = { succeeded: "success", failed: "failed" }[status];
  if (word && run.schedule !== null) statements.push(["report", rows([run.schedule, word, at, Number(status === "failed")])]);
  for (let pause = 1; ; pause = Math.min(pause * 2, 30)) {
    try {
      await batch(...statements);
      return console.log(`${run.id} ${until ? "put off" : status}`);
    } catch (problem) {
      if (problem.code === "conflict") break;
      console.error(`${run.id} not written yet: ${problem.message}`); // or it was: then the next try is a conflict
      await sleep(pause * 1000);
    }
  }
  const [[guards]] = await batch(["run_guards", { ids: JSON.stringify([run.id]) }]);
  const asked = guards && guards[1] === "running" && guards[2] === run.token && guards[3];
  if (asked) return book(run, started, { ...canceled(run, "canceled"), error, failures }); // it can only end
  console.log(`${run.id} lost, or written before`);
}

// Poll

for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => (stopping = true)); // what it has, it ends
console.log(`consumer ${worker}`);
let unsure = false;
while (!stopping) {
  try {
    set ??= (await call("/v1/health")).sets.at(-1);
    // After a lost answer: what the store says it holds is worked on, whether or not that was told.
    const [[row]] = unsure ? await batch(["held_by", { worker }]) : [[]];
    unsure = true;
    const run = row ? held(row, RUN) : await claim();
    unsure = false;
    await (run ? execute(run) : sleep(Number(POLL) * 1000));
  } catch (error) {
    console.error(`${BRIDGE}: ${error.message}${error.cause ? `: ${error.cause.message}` : ""}`);
    await sleep(Number(POLL) * 1000);
  }
}
