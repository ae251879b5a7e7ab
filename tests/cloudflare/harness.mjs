// The bridge as it is shipped, in miniflare, with a wire in front of it that can be told to fail.
//
//   node harness.mjs BRIDGE_FOLDER TOKEN DATABASES DATA_FOLDER
//
// Prints the port. The first part of a path names a database: one of a pool, emptied when its name is new;
// its tables stay if the name begins with `made`.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [folder, token, number, data] = process.argv.slice(2);
const { Miniflare } = createRequire(path.resolve(process.env.NODE_FOLDER, "x.js"))("miniflare");
const module = (name, file) => ({ type: "ESModule", path: name, contents: readFileSync(file, "utf-8") });
const names = Array.from({ length: Number(number) }, (_, place) => `DB${place}`);

const miniflare = new Miniflare({
  host: "127.0.0.1",
  port: 0,
  modules: [
    module("front.mjs", new URL("front.mjs", import.meta.url)),
    module("worker.mjs", path.join(folder, "worker.mjs")),
    module("queries.mjs", path.join(folder, "queries.mjs")),
    module("queue.mjs", path.join(folder, "queue.mjs")),
  ],
  compatibilityDate: "2026-01-01",
  d1Databases: Object.fromEntries(names.map((name) => [name, name])),
  defaultPersistRoot: data,
  bindings: { TOKEN: token, SEARCH: "on" },
});
console.log((await miniflare.ready).port);
process.stdin.on("end", () => miniflare.dispose().then(() => process.exit(0))).resume();
