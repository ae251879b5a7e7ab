// A Worker of Cloudflare as an agent of Workbell: it takes runs by their ids, executes their handlers, and reports.
//
//   queue()      a message of a queue names a run: Workbell's {version, run}, or Kumofire's {version, kumofireJobRunId}
//   scheduled()  a cron trigger: have Workbell queue what is due, then work off what is aimed at this agent
//
// What it says to the server is docs/agent-protocol.md of Workbell. Handlers are in handlers.mjs.
import { handlers } from "./handlers.mjs";

/**
 * @typedef {{ WORKBELL: string, AGENT_TOKEN: string, DISPATCH_TOKEN?: string, LEASE?: string }} Env
 * @typedef {{ id: string, token: number, job: string, handler?: string | null, input: Record<string, unknown>, attempt: number, cancel: string | null }} Run
 * @typedef {(input: any, context: { run: Run, signal: AbortSignal }) => unknown} Handler
 * @typedef {{ status: string, result?: unknown, error?: string, kinds?: string[], final?: boolean, reason?: string }} Report
 */

const BUSY = 30; // seconds after which a message comes again whose run could not be taken yet
const POLLED = 20; // runs of one cron trigger, at most

export default {
  /** @param {{ messages: any[] }} batch @param {Env} env */
  async queue(batch, env) {
    const agent = new Agent(env);
    await Promise.all(
      batch.messages.map(async (message) => {
        const { version = 1, run, kumofireJobRunId } = message.body ?? {};
        const id = version === 1 ? (run ?? kumofireJobRunId) : undefined;
        if (typeof id !== "string") return message.retry({ delaySeconds: BUSY }); // not understood here: not acknowledged
        const again = await agent.takeAndWork(id).catch((error) => (console.error(id, error), true));
        again ? message.retry({ delaySeconds: BUSY }) : message.ack();
      }),
    );
  },

  /** @param {unknown} _event @param {Env} env */
  async scheduled(_event, env) {
    if (env.DISPATCH_TOKEN) taken("dispatch", await call(env, "/dispatch", {}, env.DISPATCH_TOKEN));
    const agent = new Agent(env);
    for (let count = 0; count < POLLED && (await agent.pollAndWork()); count += 1);
  },
};

/** One invocation: a session of its own, so that no other touches what it holds. */
class Agent {
  /** @param {Env} env */
  constructor(env) {
    this.env = env;
    this.session = crypto.randomUUID();
    this.lease = Number(env.LEASE ?? 30);
  }

  /** Take a run and execute it; true: not now, come again. @param {string} id */
  async takeAndWork(id) {
    const answer = await this.post(`/runs/${id}/take`, { lease: this.lease });
    if (answer.status === 404) return false; // not aimed at this agent, or removed
    const body = taken("take", answer);
    if (body.run) await this.work(body.run);
    return !body.run && body.status === "queued"; // paused, or more than a limit allows
  }

  /** Work on one run, if there is one. */
  async pollAndWork() {
    const { runs } = taken("poll", await this.post("/poll", { jobs: Object.keys(handlers), lease: this.lease }));
    for (const run of runs) await this.work(run);
    return runs.length > 0;
  }

  /** @param {Run} run */
  async work(run) {
    const stop = new AbortController();
    const beat = setInterval(() => this.renew(run, stop).catch(console.error), (this.lease * 1000) / 3);
    try {
      const report = await execute(run, stop);
      if (stop.signal.reason !== "lost") await this.report(run, report);
    } finally {
      clearInterval(beat);
    }
  }

  /** Renew the lease; the answer says whether it is lost, and whether the end was asked for. @param {Run} run @param {AbortController} stop */
  async renew(run, stop) {
    const { body } = await this.post("/heartbeat", { lease: this.lease, holding: [{ id: run.id, token: run.token }] });
    const [told] = body.runs ?? [];
    if (told && !told.held) stop.abort("lost");
    else if (told?.cancel) stop.abort(told.cancel);
  }

  /** Send a report until it is answered; every one may be sent twice. @param {Run} run @param {Report} report */
  async report(run, report) {
    for (const wait of [1, 2, 4, 8]) {
      const { status, body } = await this.post(`/runs/${run.id}/result`, { token: run.token, ...report }).catch((error) => ({ status: 0, body: error }));
      if (status > 0 && status < 500 && status !== 429) {
        if (status !== 200) console.error(run.id, status, body); // 409: another has it now, and what was done here is dropped
        return;
      }
      await new Promise((done) => setTimeout(done, wait * 1000));
    }
  }

  /** @param {string} path @param {object} body */
  post(path, body) {
    return call(this.env, `/agents/self${path}`, { session: this.session, ...body }, this.env.AGENT_TOKEN);
  }
}

/** @param {Run} run @param {AbortController} stop @returns {Promise<Report>} */
async function execute(run, stop) {
  if (run.cancel) return { status: "canceled", reason: run.cancel };
  const name = [run.handler, run.job].find((each) => each && Object.hasOwn(handlers, each)); // a definition names its handler
  const handler = name && handlers[name];
  if (!handler) return { status: "failed", error: `there is no handler for the job ${run.job}`, final: true };
  try {
    return { status: "succeeded", result: (await handler(run.input, { run, signal: stop.signal })) ?? null };
  } catch (error) {
    if (stop.signal.aborted) return { status: "canceled", reason: String(stop.signal.reason) };
    return { status: "failed", error: String(error), kinds: [error?.name ?? "Error"], final: error?.final === true };
  }
}

/** The body of an answer; a refusal is an error, seen in the Worker's logs. @param {string} what @param {{ status: number, body: any }} answer */
function taken(what, { status, body }) {
  if (status !== 200) throw new Error(`${what}: HTTP ${status} ${JSON.stringify(body)}`);
  return body;
}

/** @param {Env} env @param {string} path @param {object} body @param {string} token */
async function call(env, path, body, token) {
  const url = new URL(`${env.WORKBELL}/api/v1${path}`);
  if (url.protocol !== "https:" && url.hostname !== "127.0.0.1") throw new Error("WORKBELL: over http:// the token could be read; use https://");
  const answer = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    redirect: "manual", // the token is for this server alone
    signal: AbortSignal.timeout(15_000),
  });
  return { status: answer.status, body: await answer.json().catch(() => ({})) };
}
