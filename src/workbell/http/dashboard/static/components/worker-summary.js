// Who is there to work, in brief.
import { Link, to } from "../router.js";
import { Time } from "../times.js";
import { html } from "../ui.js";
import { Empty } from "./page.js";
import { Status } from "./status.js";
import { Table } from "./table.js";

const SHOWN = 8;

/**
 * How a worker is: one word.
 * @param {Api.Worker} worker
 */
export function stateOf(worker) {
  if (!worker.alive) return "lost";
  if (worker.stopping) return "stopping";
  if (!worker.drained_at) return "alive";
  return worker.drain_seen_at ? "drained" : "draining"; // until it has said that it obeys
}

/**
 * Its host; who may not know that sees an alias.
 * @param {Api.Worker} worker
 */
export const nameOf = (worker) => worker.host || worker.id;

/** @param {{ workers: Api.Worker[] }} props */
export function WorkerSummary({ workers }) {
  const shown = [...workers].sort((one, other) => Number(other.alive) - Number(one.alive)).slice(0, SHOWN);
  if (!shown.length) return html`<${Empty} code="workbell start">Nobody is there to run anything:<//>`;
  return html`<${Table} caption="Workers" rows=${shown} columns=${/** @type {Column<Api.Worker>[]} */ ([
    { name: "Worker", cell: (worker) => html`<${Link} class="strong" to=${to(["workers"])}>${nameOf(worker)}<//> <span class="faint">${worker.pid || ""}</span>` },
    { name: "State", cell: (worker) => html`<${Status} of=${stateOf(worker)} />` },
    { name: "Busy", classes: "number", cell: (worker) => (worker.host ? `${worker.busy} of ${worker.concurrency}` : worker.busy) },
    { name: "Seen", classes: "when", cell: (worker) => html`<${Time} at=${worker.seen_at} ago />` },
  ])} />`;
}
