// Queues: how much waits in each and for how long; paused or not.
import { api, part } from "../api.js";
import { Link, to } from "../router.js";
import { spanText } from "../times.js";
import { html } from "../ui.js";
import { Action } from "./action.js";
import { Status } from "./status.js";
import { Table } from "./table.js";

const LONG = 60; // seconds

/**
 * Whether what waits there waits for long, and not because somebody has paused it.
 * @param {Api.Queue} queue
 */
export const waitsLong = (queue) => !queue.paused && queue.oldest_wait_seconds >= LONG;

/**
 * With `reload`, a queue can be paused and resumed here, and the table sorted.
 * @param {{ queues: Api.Queue[], reload?: Reload }} props
 */
export function QueueTable({ queues, reload }) {
  /**
   * @param {Api.Queue} queue
   * @param {"running" | "queued" | "scheduled"} status
   */
  const link = (queue, status) => html`<${Link} to=${to(["runs"], { queue: queue.name, status })}>${queue[status].toLocaleString("en")}${queue.capped.includes(status) ? "+" : ""}<//>`;
  /** @param {(queue: Api.Queue) => string | number} value */
  const by = (value) => (reload ? value : undefined);
  /** @type {Column<Api.Queue>[]} */
  const columns = [
    { name: "Queue", classes: "queue-name", by: by((queue) => queue.name), cell: (queue) => html`<${Link} class="strong" to=${to(["queues", queue.name])}>${queue.name}<//>` },
    { name: "State", classes: "queue-state", cell: (queue) => html`<${QueueState} queue=${queue} />` },
    { name: "Running", classes: "number", by: by((queue) => queue.running), cell: (queue) => link(queue, "running") },
    { name: "Queued", classes: "number", by: by((queue) => queue.queued), cell: (queue) => link(queue, "queued") },
    ...(reload ? [{ name: "Scheduled", classes: "number", by: by((queue) => queue.scheduled), cell: (/** @type {Api.Queue} */ queue) => link(queue, "scheduled") }] : []),
    { name: "Oldest wait", classes: "number", by: by((queue) => queue.oldest_wait_seconds), cell: (queue) => (queue.oldest_wait_seconds ? html`<span class=${waitsLong(queue) ? "bad" : ""}>${spanText(queue.oldest_wait_seconds)}</span>` : "–") },
    ...(reload ? [{ name: "Actions", hidden: true, classes: "number queue-actions", cell: (/** @type {Api.Queue} */ queue) => html`<${PauseQueue} queue=${queue} reload=${reload} />` }] : []),
  ];
  return html`<${Table} class="queues" caption="Queues" rows=${queues} keyOf=${(queue) => queue.name} rowLink columns=${columns} />`;
}

/** @param {{ queue: Api.Queue }} props */
export function QueueState({ queue }) {
  if (queue.paused) return html`<${Status} of="paused" />`;
  if (queue.paused_jobs.length) return html`<${Status} of="paused" says=${`${queue.paused_jobs.length} of its jobs paused`} />`;
  return html`<${Status} of="ok" says="running" />`;
}

/** @param {{ queue: Api.Queue, reload: Reload }} props */
export function PauseQueue({ queue, reload }) {
  const path = /** @type {const} */ (`/queues/${part(queue.name)}`);
  if (queue.paused || queue.paused_jobs.length) {
    const resume = async () => {
      await api.post(`${path}/resume`);
      await reload();
      return `The queue ${queue.name} is resumed.`;
    };
    return html`<${Action} label="Resume" classes="small" run=${resume} />`;
  }
  const pause = async () => {
    await api.post(`${path}/pause`);
    await reload();
    return `The queue ${queue.name} is paused; what runs goes on.`;
  };
  const ask = { title: `Pause the queue ${queue.name}?`, text: "Nothing of it is started until it is resumed, on no machine. Runs that have started go on.", action: "Pause it", keep: "Keep it running" };
  return html`<${Action} label="Pause" classes="small" run=${pause} ask=${ask} />`;
}
