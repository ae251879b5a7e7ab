// One worker: where it is, what it is doing, when it was seen, and draining it.
import { api, part } from "../api.js";
import { Link, to } from "../router.js";
import { useSession } from "../session.js";
import { Time } from "../times.js";
import { html } from "../ui.js";
import { Action } from "./action.js";
import { Facts, Section } from "./page.js";
import { Progress } from "./progress.js";
import { Took } from "./run-table.js";
import { Status } from "./status.js";
import { Table } from "./table.js";
import { nameOf, stateOf } from "./worker-summary.js";

/** @param {{ worker: Api.Worker, reload: Reload }} props */
export function WorkerCard({ worker, reload }) {
  const state = stateOf(worker);
  const title = html`${nameOf(worker)} <span class="faint">${worker.pid || ""}</span> <${Status} of=${state} />`;
  return html`
    <${Section} title=${title} actions=${worker.alive && html`<${Drain} worker=${worker} reload=${reload} />`}>
      <${Facts} facts=${[
        [worker.host ? "Busy" : "Your runs", worker.host ? `${worker.busy} of ${worker.concurrency}` : `${worker.busy}`],
        ["Seen", html`<${Time} at=${worker.seen_at} ago />`],
        ["Started", html`<${Time} at=${worker.started_at} />`],
        ["Drain asked for", worker.drained_at && !worker.drain_seen_at && html`<${Time} at=${worker.drained_at} />`],
        ["Drained since", worker.drain_seen_at && html`<${Time} at=${worker.drain_seen_at} />`],
        ["Queues", worker.queues ? worker.queues.join(", ") : "all"],
        ["Jobs", worker.jobs.length ? html`<span title=${worker.jobs.join(", ")}>${worker.jobs.length} known</span>` : "none"],
        ["Version", worker.version || null],
      ]} />
      ${worker.runs.length > 0 && html`<h3>Doing</h3><${Table} caption=${`What ${nameOf(worker)} ${worker.pid || ""} is doing`} rows=${worker.runs} columns=${[
        { name: "Job", cell: (run) => html`<${Link} class="strong" to=${to(["runs", run.id])}>${run.job}<//>` },
        { name: "Progress", classes: "wide", cell: (run) => html`<${Progress} progress=${run.progress} />` },
        { name: "For", classes: "number", cell: (run) => html`<${Took} run=${run} />` },
      ]} />`}
    <//>
  `;
}

/**
 * Workers are shared by all tenants, so only who may act for all of them can drain one.
 * @param {{ worker: Api.Worker, reload: Reload }} props
 */
function Drain({ worker, reload }) {
  const everything = useSession().tenant === "*";
  if (!everything || worker.stopping) return null;
  const path = /** @type {const} */ (`/workers/${part(worker.id)}`);
  if (worker.drained_at) {
    const resume = async () => {
      await api.post(`${path}/resume`);
      await reload();
      return "The worker takes runs again.";
    };
    return html`<${Action} label="Resume" classes="small" run=${resume} />`;
  }
  const drain = async () => {
    await api.post(`${path}/drain`);
    await reload();
    return "The worker takes no more runs within seconds; it finishes what it has.";
  };
  const ask = { title: "Drain this worker?", text: `${worker.host} ${worker.pid} takes no more runs and finishes what it has. It stays there, and can be resumed.`, action: "Drain it", keep: "Leave it at work" };
  return html`<${Action} label="Drain" classes="small" run=${drain} ask=${ask} />`;
}
