// The first screen: how it goes, what waits, what runs, what fails, what comes next, and who does the work.
import { Attention } from "../components/attention.js";
import { QueueTable, waitsLong } from "../components/queue-table.js";
import { Empty, Loading, Page, Section, Trouble } from "../components/page.js";
import { Throughput } from "../components/throughput.js";
import { FailingJobs } from "../components/failing-jobs.js";
import { RunningNow } from "../components/running-now.js";
import { NextTicks } from "../components/next-due.js";
import { WorkerSummary } from "../components/worker-summary.js";
import { useLive } from "../live.js";
import { usePoll } from "../poll.js";
import { Link, to, useLocation } from "../router.js";
import { spanText } from "../times.js";
import { html } from "../ui.js";

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
        <${Section} title="Next runs"><${NextTicks} /><//>
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
