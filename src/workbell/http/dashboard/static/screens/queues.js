// Queues: what waits in each and for how long; one of them with its jobs and their limits.
import { api, part } from "../api.js";
import { Throughput } from "../components/chart.js";
import { Action } from "../components/dialog.js";
import { Empty, Facts, Loading, Page, Section, Trouble } from "../components/page.js";
import { Status } from "../components/status.js";
import { Table } from "../components/table.js";
import { usePoll } from "../live.js";
import { Link, to } from "../router.js";
import { spanText, Time } from "../times.js";
import { html } from "../ui.js";

const CODE = '@bell.job(queue="mails")\ndef send(to: str) -> None: ...';

/** @param {{ parts: string[] }} props */
export function Queues({ parts }) {
  return parts.length ? html`<${Queue} name=${parts[0]} />` : html`<${QueueList} />`;
}

function QueueList() {
  const { data, problem, reload } = usePoll("/queues");
  return html`
    <${Page} title="Queues" lead="Where runs wait. A worker takes from all queues, unless it was started for some.">
      <${Trouble} problem=${problem} />
      ${!data && !problem && html`<${Loading} />`}
      ${data?.items.length === 0 && html`<${Empty} code=${CODE}>There is no queue yet. A job names its own:<//>`}
      ${data && data.items.length > 0 && html`<${QueueTable} queues=${data.items} reload=${reload} />`}
    <//>
  `;
}

/** @param {{ name: string }} props */
function Queue({ name }) {
  const { data, problem, reload } = usePoll("/queues");
  const tallies = usePoll("/tallies", { minutes: 60, queue: name }, 5);
  const queue = data?.items.find((one) => one.name === name);
  const lead = html`<${Link} to=${to(["queues"])}>All queues<//>`;
  if (!data) return html`<${Page} title=${name} lead=${lead}><${Trouble} problem=${problem} />${!problem && html`<${Loading} />`}<//>`;
  if (!queue) return html`<${Page} title=${name} lead=${lead}><${Empty}>Nothing waits in a queue of this name, and no job names it.<//><//>`;
  return html`
    <${Page} title=${name} lead=${lead} actions=${html`<${PauseQueue} queue=${queue} reload=${reload} />`}>
      <${Trouble} problem=${problem} />
      <${Section} title="Now">
        <${Facts} facts=${[
          ["State", html`<${QueueState} queue=${queue} />`],
          ["Paused since", queue.paused_since && html`<${Time} at=${queue.paused_since} />`],
          ["Jobs paused here", queue.paused_jobs.map((one) => one.job).join(", ")],
          ["Running", html`<${Link} to=${to(["runs"], { queue: name, status: "running" })}>${queue.running.toLocaleString("en")}<//>`],
          ["Queued", html`<${Link} to=${to(["runs"], { queue: name, status: "queued" })}>${queue.queued.toLocaleString("en")}<//>`],
          ["Scheduled", html`<${Link} to=${to(["runs"], { queue: name, status: "scheduled" })}>${queue.scheduled.toLocaleString("en")}<//>`],
          ["Oldest wait", queue.oldest_wait_seconds ? spanText(queue.oldest_wait_seconds) : "none"],
        ]} />
      <//>
      <${Section} title="Finished in the last hour">
        ${tallies.data ? html`<${Throughput} tallies=${tallies.data} height=${160} />` : html`<${Trouble} problem=${tallies.problem} />${!tallies.problem && html`<${Loading} />`}`}
      <//>
      <${Section} title="Jobs and their limits"><${LimitTable} queue=${queue} reload=${reload} /><//>
    <//>
  `;
}

// Queues: how much waits in each and for how long; paused or not.

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
    {
      name: "Oldest wait",
      classes: "number",
      by: by((queue) => queue.oldest_wait_seconds),
      cell: (queue) => (queue.oldest_wait_seconds ? html`<span class=${waitsLong(queue) ? "bad" : ""}>${spanText(queue.oldest_wait_seconds)}</span>` : "–"),
    },
    ...(reload ? [{ name: "Actions", hidden: true, classes: "number queue-actions", cell: (/** @type {Api.Queue} */ queue) => html`<${PauseQueue} queue=${queue} reload=${reload} />` }] : []),
  ];
  return html`<${Table} class="queues" caption="Queues" rows=${queues} keyOf=${(queue) => queue.name} rowLink columns=${columns} />`;
}

/** @param {{ queue: Api.Queue }} props */
function QueueState({ queue }) {
  if (queue.paused) return html`<${Status} of="paused" />`;
  if (queue.paused_jobs.length) return html`<${Status} of="paused" says=${`${queue.paused_jobs.length} of its jobs paused`} />`;
  return html`<${Status} of="ok" says="running" />`;
}

/** @param {{ queue: Api.Queue, reload: Reload }} props */
function PauseQueue({ queue, reload }) {
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
  const ask = {
    title: `Pause the queue ${queue.name}?`,
    text: "Nothing of it is started until it is resumed, on no machine. Runs that have started go on.",
    action: "Pause it",
    keep: "Keep it running",
  };
  return html`<${Action} label="Pause" classes="small" run=${pause} ask=${ask} />`;
}

// The jobs of a queue with what limits them; one of them can be paused here alone.

/** @param {{ queue: Api.Queue, reload: Reload }} props */
function LimitTable({ queue, reload }) {
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
