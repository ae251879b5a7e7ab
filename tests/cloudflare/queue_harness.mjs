// A queue in miniflare, with the shipped queue.mjs as its consumer or with the stand-in of the REST API in front of it.
//
//   node queue_harness.mjs BRIDGE_FOLDER SETTINGS     (JSON: the variables of the Worker)
//
// Prints the port. Without SERVICE among the variables the queue is pulled.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [folder, settings] = process.argv.slice(2);
const { Miniflare } = createRequire(path.resolve(process.env.NODE_FOLDER, "x.js"))("miniflare");
const module = (name, file) => ({ type: "ESModule", path: name, contents: readFileSync(file, "utf-8") });

const miniflare = new Miniflare({
  host: "127.0.0.1",
  port: 0,
  modules: [
    module("queue_front.mjs", new URL("queue_front.mjs", import.meta.url)),
    module("queue.mjs", path.join(folder, "queue.mjs")),
  ],
  compatibilityDate: "2026-01-01",
  queueProducers: { QUEUE: "runs" },
  queueConsumers: { runs: { maxBatchSize: 20, maxBatchTimeout: 0.05, maxRetries: 100 } },
  bindings: JSON.parse(settings),
});
console.log((await miniflare.ready).port);
process.stdin.on("end", () => miniflare.dispose().then(() => process.exit(0))).resume();
