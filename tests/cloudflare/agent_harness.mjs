// The agent Worker of examples/typescript_agent in miniflare, with a queue.
//
//   node agent_harness.mjs FOLDER HANDLERS BINDINGS
//
// Prints the port. HANDLERS is the file in the place of handlers.mjs, BINDINGS a JSON object.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [folder, handlers, bindings] = process.argv.slice(2);
const { Miniflare } = createRequire(path.resolve(process.env.NODE_FOLDER, "x.js"))("miniflare");
const module = (name, file) => ({ type: "ESModule", path: name, contents: readFileSync(file, "utf-8") });

const miniflare = new Miniflare({
  host: "127.0.0.1",
  port: 0,
  modules: [
    module("agent_front.mjs", new URL("agent_front.mjs", import.meta.url)),
    module("worker.mjs", path.join(folder, "worker.mjs")),
    module("handlers.mjs", handlers),
  ],
  compatibilityDate: "2026-01-01",
  bindings: JSON.parse(bindings),
  queueProducers: { QUEUE: "workbell" },
  queueConsumers: { workbell: { maxBatchSize: 10, maxBatchTimeout: 0.1, maxRetries: 100 } },
});
console.log((await miniflare.ready).port);
process.stdin.on("end", () => miniflare.dispose().then(() => process.exit(0))).resume();
