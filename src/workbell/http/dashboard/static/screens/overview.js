// The first screen: how it goes, what waits, what runs, what fails, what comes next, and who does the work.
import { useSession } from "../api.js";
import { Throughput } from "../components/chart.js";
import { shareText } from "../components/jobs.js";
import { Empty, Loading, Page, Section, Trouble } from "../components/page.js";
import { Took } from "../components/run-table.js";
import { Table } from "../components/table.js";
import { Progress } from "../components/value.js";
import { useLive, usePoll } from "../live.js";
import { Link, to, useLocation } from "../router.js";
import { spanText, Time } from "../times.js";
import { html } from "../ui.js";
import { QueueTable, waitsLong } from "./queues.js";
import { WorkerSummary } from "./workers.js";

const MOST_RUNNING = 200; // of more, the number of the queues is shown
const LONG = 7; // letters of a figure that are written smaller, such as "13 min 59 s"
const SPANS = [["15", "15 min"], ["60", "1 hour"], ["1440", "1 day"], ["10080", "7 days"]];

/** @param {string} minutes */
const lastOf = (minutes) => `last ${SPANS.find(([value]) => value === minutes)?.[1] ?? `${minutes} min`}`;

export function Overview() {
  const minutes = useLocation().query.get("minutes") ?? "60";
  const tallies = usePoll("/tallies", { minutes }, minutes === "15" ? 2 : 5);
  const polled = usePoll("/queues");
  const running = useLive("runs", { status: "running", limit: MOST_RUNNING });
  const queues = { ...polled, data: polled.data && { items: withRunning(polled.data.items, running) } };
  const workers = usePoll("/workers");
  const spans = html`<div class="chips" role="group" aria-label="Span of time">
    ${SPANS.map(([value, text]) => html`<${Link} key=${value} class="button small chip" to=${to([], { minutes: value })}
      aria-current=${value === minutes ? "true" : undefined}>${text}<//>`)}
  </div>`;
  return html`
    <${Page} title="Overview" actions=${spans}>
      <${Trouble} problem=${tallies.problem ?? queues.problem ?? workers.problem} />
      <${Figures} minutes=${minutes} tallies=${tallies.data} queues=${queues.data} workers=${workers.data} />
      <${Attention} queues=${queues.data?.items} />
      <${Section} title=${`Finished runs (${lastOf(minutes)})`}>${tallies.data ? html`<${Throughput} tallies=${tallies.data} />` : html`<${Waiting} of=${tallies} />`}<//>
      <div class="columns overview-columns">
        <${Section} title="Running now"><${RunningNow} running=${running} /><//>
        <${Section} title=${`Failing jobs (${lastOf(minutes)})`}>${tallies.data ? html`<${FailingJobs} jobs=${tallies.data.jobs} />` : html`<${Waiting} of=${tallies} />`}<//>
        <${Section} title="Queues">
          ${!queues.data && html`<${Waiting} of=${queues} />`}
          ${queues.data?.items.length === 0 && html`<${Empty}>Nothing waits, and no job names a queue.<//>`}
          ${queues.data && queues.data.items.length > 0 && html`<${QueueTable} queues=${queues.data.items} />`}
        <//>
        <${Section} title="Next runs"><${NextRuns} /><//>
        <${Section} title="Workers">${workers.data ? html`<${WorkerSummary} workers=${workers.data.items} />` : html`<${Waiting} of=${workers} />`}<//>
      </div>
    <//>
  `;
}

/**
 * The queues with the runs that are listed as running: one source for both, as two are never of the same moment.
 * @param {Api.Queue[]} queues
 * @param {Followed<Api.Run>} given
 */
function withRunning(queues, { rows, problem }) {
  if (!rows || problem || rows.size === MOST_RUNNING) return queues;
  const count = new Map();
  for (const run of rows.values()) count.set(run.queue, (count.get(run.queue) ?? 0) + 1);
  return queues.map((queue) => ({ ...queue, running: count.get(queue.name) ?? 0 }));
}

/**
 * Nothing has come yet; if that will not change by itself soon, it is said once, above.
 * @param {{ of: { problem: Failure | null } }} props
 */
const Waiting = ({ of }) => (of.problem ? html`<p class="faint">Not known.</p>` : html`<${Loading} />`);

/** @param {{ minutes: string, tallies: Api.Tallies | null, queues: { items: Api.Queue[] } | null, workers: { items: Api.Worker[] } | null }} props */
function Figures({ minutes, tallies, queues, workers }) {
  /** @param {"running" | "queued" | "scheduled"} name */
  const sum = (name) => queues?.items.reduce((total, queue) => total + queue[name], 0);
  /** @param {"queued" | "scheduled"} name */
  const least = (name) => (queues?.items.some((queue) => queue.capped.includes(name)) ? `${sum(name)?.toLocaleString("en")}+` : sum(name));
  const failed = tallies?.items.reduce((total, step) => total + step.failed, 0);
  const oldest = queues && Math.max(0, ...queues.items.map((queue) => (queue.paused ? 0 : queue.oldest_wait_seconds)));
  const alive = workers?.items.filter((worker) => worker.alive);
  return html`
    <div class="figures">
      <${Figure} name="running" value=${sum("running")} address=${to(["runs"], { status: "running" })} />
      <${Figure} name="queued" value=${least("queued")} address=${to(["runs"], { status: "queued" })} />
      <${Figure} name="scheduled" value=${least("scheduled")} address=${to(["runs"], { status: "scheduled" })} />
      <${Figure} name="oldest wait" value=${oldest === null || oldest === undefined ? undefined : oldest ? spanText(oldest) : "none"} address=${to(["queues"])} bad=${queues?.items.some(waitsLong)} />
      <${Figure} name=${`failed (${lastOf(minutes)})`} value=${failed} address=${to(["runs"], { status: "failed" })} bad=${(failed ?? 0) > 0} />
      <${Figure} name=${alive?.length === 1 ? "worker" : "workers"} value=${alive?.length} address=${to(["workers"])} bad=${alive?.length === 0} />
    </div>
  `;
}

/** @param {{ name: string, value: number | string | undefined, address: string, bad?: boolean }} props */
function Figure({ name, value, address, bad }) {
  const text = typeof value === "number" ? value.toLocaleString("en") : (value ?? "…");
  return html`<${Link} class="figure ${bad ? "figure-bad" : ""}" to=${address}><b class=${text.length > LONG ? "long" : ""}>${text}</b><span>${name}</span><//>`;
}

// What needs somebody, in one line each: queues that are paused, endpoints that fail, what the doctor calls at risk.

const ENDPOINTS_PAUSE = 5; // seconds between two questions
const DOCTOR_PAUSE = 60;

/**
 * `queues` as GET /queues tells them.
 * @param {{ queues: Api.Queue[] | undefined }} props
 */
function Attention({ queues }) {
  const everything = useSession().tenant === "*";
  const { data: endpoints } = usePoll("/webhooks", {}, ENDPOINTS_PAUSE);
  const { data: doctor } = usePoll(everything ? "/doctor" : null, {}, DOCTOR_PAUSE);
  const lines = [...pausedLines(queues ?? []), ...endpointLines(endpoints?.items ?? []), ...doctorLines(doctor?.items ?? [])];
  if (!lines.length) return null;
  return html`<ul class="attention notice" aria-label="What needs attention">
    ${lines.map(({ address, text }) => html`<li key=${address}><${Link} to=${address}>${text}<//></li>`)}
  </ul>`;
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} many
 */
const counted = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** @param {Api.Queue[]} queues */
const pausedLines = (queues) =>
  queues
    .filter((queue) => queue.paused)
    .map((queue) => ({ address: to(["queues", queue.name]), text: `Queue ${queue.name} is paused; ${counted(queue.queued, "run waits", "runs wait")}.` }));

/** @param {Api.Endpoint[]} endpoints */
function endpointLines(endpoints) {
  const failing = endpoints.filter((one) => one.enabled && one.failing_since);
  const disabled = endpoints.filter((one) => !one.enabled);
  return [
    ...failing.map((one) => ({ address: to(["webhooks", one.id]), text: `Webhook ${one.url}: the last ${counted(one.failures_in_a_row, "attempt", "attempts")} failed.` })),
    ...disabled.map((one) => ({ address: to(["webhooks", one.id]), text: `Webhook ${one.url} is disabled.` })),
  ];
}

/** @param {Api.Finding[]} items */
function doctorLines(items) {
  const wrong = items.filter((one) => one.state === "problem");
  return wrong.length ? [{ address: to(["doctor"]), text: `Doctor, at risk: ${wrong.map((one) => one.name).join(", ")}.` }] : [];
}

// What runs at this moment, with its progress.

const RUNNING_SHOWN = 10;

/**
 * `running` as `useLive` tells it: the same runs that are counted above.
 * @param {{ running: Followed<Api.Run> }} props
 */
function RunningNow({ running }) {
  const { rows, problem } = running;
  if (!rows) return problem ? html`<${Trouble} problem=${problem} />` : html`<${Loading} />`;
  if (!rows.size) return html`<${Empty}>Nothing is running.<//>`;
  const oldest = [...rows.values()].sort((one, other) => ((one.started_at ?? "") < (other.started_at ?? "") ? -1 : 1)).slice(0, RUNNING_SHOWN);
  return html`
    <${Table} caption="Running now" rows=${oldest} columns=${/** @type {Column<Api.Run>[]} */ ([
      { name: "Job", cell: (run) => html`<${Link} class="strong" to=${to(["runs", run.id])}>${run.job}<//>` },
      { name: "Progress", classes: "wide", cell: (run) => html`<${Progress} progress=${run.progress} />` },
      { name: "For", classes: "number", cell: (run) => html`<${Took} run=${run} />` },
    ])} />
    ${rows.size > RUNNING_SHOWN && html`<p><${Link} to=${to(["runs"], { status: "running" })}>All running<//></p>`}
  `;
}

// Jobs of which runs failed or had to be tried again, most failures first.

const FAILING_SHOWN = 8;

/**
 * `jobs` as GET /tallies tells them.
 * @param {{ jobs: Api.Tallies["jobs"] }} props
 */
function FailingJobs({ jobs }) {
  const failing = jobs.filter((job) => job.failed || job.retried).slice(0, FAILING_SHOWN);
  if (!failing.length) return html`<${Empty}>Nothing failed in this time.<//>`;
  return html`<${Table} caption="Failing jobs" rows=${failing} keyOf=${(job) => job.job} columns=${/** @type {Column<Api.Tallies["jobs"][number]>[]} */ ([
    { name: "Job", cell: (job) => html`<${Link} class="strong" to=${to(["jobs", job.job])}>${job.job}<//>` },
    { name: "Failed", classes: "number", cell: (job) => html`<${Link} to=${to(["runs"], { job: job.job, status: "failed" })}>${job.failed.toLocaleString("en")}<//>` },
    { name: "Share", classes: "number", cell: (job) => shareText(job.failed, job.succeeded + job.failed) },
    { name: "Retried", classes: "number", cell: (job) => job.retried.toLocaleString("en") },
  ])} />`;
}

// The next ticks of all schedules.

const CODE = '@bell.job(cron="0 3 * * *")\ndef nightly() -> None: ...';

function NextRuns() {
  const { data, problem } = usePoll("/upcoming", { limit: 8 });
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  if (!data.items.length) return html`<${Empty} code=${CODE}>No schedule has a next run. A job gets one where it is declared:<//>`;
  return html`<${Table} caption="Next runs" rows=${data.items} keyOf=${(tick) => tick.schedule} columns=${/** @type {Column<Api.Upcoming>[]} */ ([
    { name: "Schedule", cell: (tick) => html`<${Link} class="strong" to=${to(["schedules", tick.schedule])}>${tick.schedule}<//>` },
    { name: "In words", classes: "wide", cell: (tick) => tick.in_words },
    { name: "Due", classes: "when", cell: (tick) => html`<${Time} at=${tick.due} ago /><br /><span class="faint"><${Time} at=${tick.due} /></span>` },
  ])} />`;
}
