// Stand-in for Cloudflare's REST API of Queues, in front of miniflare's queue, which has no such API. As far as it is
// documented: batch, pull, ack with retries, the list of queues, errors of authentication. And what tests need beside it:
// POST /fault {kind, every, env}, /empty, /raw [body, …], /cron; GET /seen.
import { queue, scheduled } from "./queue.mjs";

const ACCOUNT = "account";
const ID = "0123456789abcdef0123456789abcdef";
const waiting = []; // {body, due, attempts}
const leased = new Map(); // lease_id → message
const seen = { sent: 0, queued: 0, pushed: 0, pulled: 0, acked: 0, retried: 0, unauthorized: 0 };
let fault = {};
let calls = 0;
let leases = 0;

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/client/v4/")) return api(pathname.slice("/client/v4".length), request, env);
    if (pathname === "/fault") fault = await request.json();
    else if (pathname === "/empty") waiting.splice(0), leased.clear();
    else if (pathname === "/raw") await enqueue(env, (await request.json()).map((body) => ({ body })));
    else if (pathname === "/cron") await scheduled({}, { ...env, ...fault.env });
    return Response.json(seen);
  },
  async queue(batch, env) {
    seen.pushed += batch.messages.length;
    if (env.SERVICE) return queue({ messages: batch.messages.map(counted) }, { ...env, ...fault.env });
    for (const message of batch.messages) waiting.push({ body: message.body, due: 0, attempts: 0 });
  },
  scheduled,
};

function counted(message) {
  const ack = () => ((seen.acked += 1), message.ack());
  const retry = (options) => ((seen.retried += 1), message.retry(options));
  return { id: message.id, body: message.body, ack, retry };
}

async function api(path, request, env) {
  if (request.headers.get("authorization") !== `Bearer ${env.API_TOKEN}`) {
    seen.unauthorized += 1;
    return refuse(401, 10000, "Authentication error");
  }
  const [, , account, , id, , verb] = path.split("/");
  if (account !== ACCOUNT) return refuse(403, 10023, "Queues is not enabled on this account");
  if (fault.kind === "down") return new Response("<html>502</html>", { status: 502 });
  if (request.method === "GET") return succeed([{ queue_name: "runs", queue_id: ID }]);
  if (id !== ID) return refuse(404, 11000, "queue not found");
  const body = await request.json();
  if (verb === "batch") return succeed(await send(body.messages, env));
  if (verb === "pull" && env.SERVICE) return refuse(405, 11002, "the queue has no http_pull consumer");
  if (verb === "pull") return succeed({ messages: pull(body) });
  for (const { lease_id } of body.acks ?? []) seen.acked += leased.delete(lease_id) ? 1 : 0;
  for (const { lease_id, delay_seconds } of body.retries ?? []) giveBack(lease_id, delay_seconds);
  return succeed({ ackCount: body.acks?.length ?? 0, retryCount: body.retries?.length ?? 0 });
}

async function send(messages, env) {
  if (messages.length > 100) throw new Error("too many messages");
  seen.sent += messages.length;
  const bad = fault.every && (calls += 1) % fault.every === 0;
  if (bad && fault.kind === "lost") return null;
  const copies = bad && fault.kind === "double" ? [...messages, ...messages] : messages;
  const delaySeconds = bad && fault.kind === "late" ? 2 : 0;
  await enqueue(env, copies.slice(0, 100), delaySeconds);
  return null;
}

async function enqueue(env, messages, delaySeconds = 0) {
  seen.queued += messages.length;
  await env.QUEUE.sendBatch(messages.map(({ body }) => ({ body, contentType: "json", delaySeconds })));
}

function pull({ batch_size, visibility_timeout_ms }) {
  const now = Date.now();
  for (const [lease, message] of leased) if (message.due <= now) leased.delete(lease), waiting.push(message);
  const ready = waiting.filter((message) => message.due <= now).slice(0, batch_size);
  return ready.map((message) => {
    waiting.splice(waiting.indexOf(message), 1);
    const lease_id = `lease-${(leases += 1)}`;
    leased.set(lease_id, { ...message, due: now + visibility_timeout_ms, attempts: message.attempts + 1 });
    seen.pulled += 1;
    return { body: btoa(JSON.stringify(message.body)), id: lease_id, lease_id, attempts: message.attempts + 1, metadata: { "CF-Content-Type": "json" } };
  });
}

function giveBack(lease, seconds = 0) {
  const message = leased.get(lease);
  if (!leased.delete(lease)) return;
  seen.retried += 1;
  waiting.push({ ...message, due: Date.now() + seconds * 1000 });
}

const succeed = (result) => Response.json({ success: true, errors: [], messages: [], result });
const refuse = (status, code, message) => Response.json({ success: false, errors: [{ code, message }], messages: [], result: null }, { status });
