// Cloudflare Queues and cron triggers for Workbell: messages of a queue are pushed to a Workbell server, which executes
// the runs that they name; a cron trigger has it dispatch.
//
//   SERVICE        the server: https://jobs.example.com
//   SERVICE_TOKEN  a token of it with the scopes consume and dispatch, for all tenants
//   SECONDS        how long the server may work on a batch (50)
//
// A message is {"version": 1, "run": id}; what the server answers for it: docs/how-to/one-shot.md of Workbell.
const LATER = 60; // seconds until a message is delivered again that could not be handed over
const LONGEST = 43200; // seconds that a message can be delayed
const BEYOND = 30; // seconds that the server may take beyond its work

export async function queue(batch, env) {
  const groups = new Map(); // version → [[message, run], …]: one that the server does not know holds up no other
  for (const message of batch.messages) {
    const named = read(message.body);
    if (typeof named?.run !== "string") {
      console.error(`message ${message.id}: it names no run; give Workbell a queue of its own`);
      message.retry({ delaySeconds: LATER });
      continue;
    }
    groups.set(named.version, [...(groups.get(named.version) ?? []), [message, named.run]]);
  }
  for (const [version, group] of groups) await consume(version, group, env);
}

export async function scheduled(_event, env) {
  console.log("dispatched", JSON.stringify(await post(env, "dispatch", {}, LATER)));
}

async function consume(version, group, env) {
  let results;
  try {
    const seconds = Number(env.SECONDS ?? 50);
    const runs = group.map(([, run]) => run);
    results = (await post(env, "consume", { version, runs, seconds }, seconds + BEYOND)).results;
  } catch (error) {
    const delaySeconds = error.after ?? LATER;
    console.error(`${group.length} messages are delivered again in ${delaySeconds} s: ${error.message}`);
    for (const [message] of group) message.retry({ delaySeconds });
    return;
  }
  const answers = new Map(results.map((result) => [result.run, result]));
  for (const [message, run] of group) {
    const { answer, retry_after } = answers.get(run) ?? { answer: "retry" };
    if (answer === "done" || answer === "ignored") message.ack();
    else message.retry({ delaySeconds: Math.min(Math.ceil(retry_after ?? LATER), LONGEST) });
  }
}

// The version and the run of a message; kumofireJobRunId is the field of Kumofire Jobs.
function read(body) {
  try {
    const { version = 1, run, kumofireJobRunId } = typeof body === "string" ? JSON.parse(body) : body;
    return { version, run: run ?? kumofireJobRunId };
  } catch {
    return undefined;
  }
}

async function post(env, path, body, seconds) {
  const url = new URL(`${String(env.SERVICE).replace(/\/+$/, "")}/api/v1/${path}`);
  if (url.protocol !== "https:" && !["localhost", "127.0.0.1"].includes(url.hostname))
    throw new Error("SERVICE: over http:// everybody on the way could read the token; use https://");
  if (!env.SERVICE_TOKEN) throw new Error("there is no SERVICE_TOKEN; set it with wrangler secret put SERVICE_TOKEN");
  const answer = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${env.SERVICE_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    redirect: "manual", // the token is for this server alone
    signal: AbortSignal.timeout(seconds * 1000),
  });
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text);
  const after = Number(answer.headers.get("retry-after")) || undefined;
  throw Object.assign(new Error(`${path}: HTTP ${answer.status}: ${text.slice(0, 300)}`), { after });
}
