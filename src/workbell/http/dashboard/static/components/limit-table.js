// The jobs of a queue with what limits them; one of them can be paused here alone.
import { api, part } from "../api.js";
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { html } from "../ui.js";
import { Action } from "./action.js";
import { Empty, Loading, Trouble } from "./page.js";
import { Status } from "./status.js";
import { Table } from "./table.js";

/** @param {{ queue: Api.Queue, reload: Reload }} props */
export function LimitTable({ queue, reload }) {
  const { data, problem } = usePoll("/jobs", {}, 5);
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  const jobs = data.items.filter((job) => job.queue === queue.name);
  if (!jobs.length) return html`<${Empty}>No job names this queue; its runs were sent here one by one.<//>`;
  const here = new Set(queue.paused_jobs.map((one) => one.job));
  /**
   * @param {string | number | null} value
   * @param {string | null} key
   */
  const limit = (value, key) => (value ? `${value}${key ? ` for each ${key}` : ""}` : "none");
  return html`<${Table} caption="Jobs and their limits" rows=${jobs} keyOf=${(job) => job.name} columns=${/** @type {Column<Api.Job>[]} */ ([
    { name: "Job", cell: (job) => html`<${Link} class="strong" to=${to(["jobs", job.name])}>${job.name}<//>` },
    { name: "At once", cell: (job) => limit(job.concurrency, job.concurrency_key) },
    { name: "Rate", cell: (job) => limit(job.rate, job.rate_key) },
    { name: "State", cell: (job) => html`<${Status} of=${here.has(job.name) || job.paused ? "paused" : "ok"} says=${here.has(job.name) ? "paused here" : job.paused ? "paused" : "running"} />` },
    { name: "Actions", hidden: true, classes: "number", cell: (job) => html`<${PauseHere} queue=${queue} job=${job.name} paused=${here.has(job.name)} reload=${reload} />` },
  ])} />`;
}

/** @param {{ queue: Api.Queue, job: string, paused: boolean, reload: Reload }} props */
function PauseHere({ queue, job, paused, reload }) {
  const verb = paused ? "resume" : "pause";
  const run = async () => {
    await api.post(`/queues/${part(queue.name)}/${verb}`, { job });
    await reload();
    return paused ? `${job} is resumed in ${queue.name}.` : `${job} is paused in ${queue.name}.`;
  };
  return html`<${Action} label=${paused ? "Resume here" : "Pause here"} classes="small" run=${run} />`;
}
