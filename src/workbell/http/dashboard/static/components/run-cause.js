// What made a run: a schedule, an event and the run behind it, an earlier run, a bulk action, or somebody's call.
import { part } from "../api.js";
import { stringify } from "../json.js";
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { html } from "../ui.js";
import { Facts, Section } from "./page.js";

const BULK = "bulk-action"; // the job of Workbell's own that acts on many runs
const RUN_ID = "[0-9a-f]{8}-[0-9a-f-]{27}";
const ENDED_BY_BULK = new RegExp(`^canceled by bulk action (${RUN_ID})$`);

/** @param {{ run: Api.Run }} props */
export function RunCause({ run }) {
  const { data: event } = usePoll(run.event ? `/events/${part(run.event)}` : null, {}, 0);
  const endedBy = ENDED_BY_BULK.exec(run.reason ?? "")?.[1];
  const facts = [
    ["Schedule", run.schedule && html`<${BySchedule} id=${run.schedule} />`],
    ["Event", run.event && html`<${Link} to=${to(["events", run.event])}>${event?.type ?? run.event}<//> <${Others} query=${{ event: run.event }} />`],
    ["Behind the event", event?.cause && html`<${ToRun} id=${event.cause} />`],
    ["Run", run.parent && html`<${Parent} id=${run.parent} />`],
    ["Retry of", run.retry_of && html`<${ToRun} id=${run.retry_of} />`],
    ["Follows after failure", run.rescheduled_from && html`<${ToRun} id=${run.rescheduled_from} />`],
    ["Canceled by bulk action", endedBy && html`<${ToRun} id=${endedBy} />`],
    ["Acts on", run.job === BULK && html`<${ActsOn} input=${run.input} />`],
  ].filter(([, value]) => value);
  return html`
    <${Section} title="Started by">
      ${facts.length ? html`<${Facts} facts=${facts} />` : html`<p>Code or a person enqueued it; no run, schedule or event is recorded.</p>`}
    <//>
  `;
}

/**
 * The schedule that made it, by its name; of one that was deleted, only its runs are left.
 * @param {{ id: string }} props
 */
function BySchedule({ id }) {
  const { data, problem } = usePoll(`/schedules/${part(id)}`, {}, 0);
  const name = data ? html`<${Link} to=${to(["schedules", data.name])}>${data.name}<//>` : problem?.status === 404 ? "one that was deleted" : "…";
  return html`${name} <${Others} query=${{ schedule: id }} />`;
}

/**
 * The run whose handler made it, by its job.
 * @param {{ id: string }} props
 */
function Parent({ id }) {
  const { data } = usePoll(`/runs/${part(id)}`, {}, 0);
  return html`<${Link} to=${to(["runs", id])}>${data?.job ?? "run"} <code>${id.slice(-8)}</code><//>`;
}

/** @param {{ id: string }} props */
const ToRun = ({ id }) => html`<${Link} to=${to(["runs", id])}>run <code>${id.slice(-8)}</code><//>`;

/** @param {{ query: Api.Words }} props */
const Others = ({ query }) => html`<span class="faint">(<${Link} to=${to(["runs"], query)}>all its runs<//>)</span>`;

/**
 * The runs that a bulk action is about, as a list with the same filter.
 * @param {{ input: Api.Run["input"] }} props
 */
function ActsOn({ input }) {
  const { input: fields = {}, ...words } = /** @type {Api.Words & { input?: Input }} */ (input.filter ?? {});
  /** @type {Api.Words} */
  const query = { ...words };
  for (const [path, value] of Object.entries(fields ?? {})) query[`input.${path}`] = typeof value === "string" ? value : stringify(value);
  return html`<${Link} to=${to(["runs"], query)}>runs of its filter<//>`;
}
