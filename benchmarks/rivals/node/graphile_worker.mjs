// Graphile Worker, one action in a process of its own, as `child.py` has them for Python:
// node graphile_worker.mjs setup | fill N | enqueue N | bulk N | latency N | worker
import { openSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const require = createRequire(path.resolve(process.env.BENCH_NODE, "x.js"));
const { Logger, makeWorkerUtils, run } = require("graphile-worker");
const { Pool } = require("pg");

const BULK = 1000; // jobs a call
const GAP = 20; // ms between paced jobs
const folder = process.env.BENCH_FOLDER;
const logger = new Logger(() => () => {});
const pool = new Pool({ connectionString: process.env.BENCH_POSTGRES, max: 26 });

// The monotonic clock is one for all processes of the machine, so a stamp of the producer can be compared.
const nanoseconds = () => process.hrtime.bigint();
const milliseconds = () => Number(nanoseconds()) / 1e6;

const count = openSync(path.join(folder, "count"), "a");
const latencies = openSync(path.join(folder, "latencies"), "a");

/** Count a handler start, as `hit` does in Python: one byte, and a record of 16 bytes if it was stamped. */
function hit(sent) {
  const now = nanoseconds();
  if (sent) {
    const record = Buffer.alloc(16);
    record.writeBigInt64LE(BigInt(sent), 0);
    record.writeBigInt64LE(now, 8);
    writeSync(latencies, record);
  }
  writeSync(count, ".");
}

const sizes = (n) => Array.from({ length: Math.ceil(n / BULK) }, (_, i) => Math.min(BULK, n - i * BULK));

/** Rate of n jobs; the clock starts after a first call, which connects and prepares. */
async function timed(n, first, rest) {
  await first();
  const began = milliseconds();
  await rest();
  return { rate: (n / (milliseconds() - began)) * 1000 };
}

async function produce(action, n) {
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  const add = (sent) => utils.addJob("noop", { sent });
  const addBulk = (size) =>
    utils.addJobs(Array.from({ length: size }, () => ({ identifier: "noop", payload: { sent: 0 } })));
  const actions = {
    setup: async () => {
      await pool.query("DROP SCHEMA IF EXISTS graphile_worker CASCADE");
      await utils.migrate();
      return {};
    },
    fill: async () => {
      for (const size of sizes(n)) await addBulk(size);
      return {};
    },
    enqueue: () => timed(n, () => add(0), async () => { for (let i = 0; i < n; i++) await add(0); }),
    bulk: () => timed(n, () => addBulk(BULK), async () => { for (const size of sizes(n)) await addBulk(size); }),
    latency: async () => {
      await add(0);
      const began = milliseconds();
      for (let i = 0; i < n; i++) {
        const wait = began + i * GAP - milliseconds();
        if (wait > 0) await sleep(wait);
        await add(String(nanoseconds()));
      }
      return {};
    },
  };
  console.log(JSON.stringify(await actions[action]()));
  await utils.release();
  await pool.end();
}

async function work() {
  const preset = {
    worker: {
      concurrentJobs: 24,
      maxPoolSize: 25,
      localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  };
  const taskList = { noop: async (payload) => { hit(payload.sent); } };
  const runner = await run({ pgPool: pool, logger, noHandleSignals: true, parsedCronItems: [], taskList, preset });
  await runner.promise;
}

const [action, n] = process.argv.slice(2);
await (action === "worker" ? work() : produce(action, Number(n)));
