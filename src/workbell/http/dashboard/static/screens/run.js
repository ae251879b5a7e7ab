// One run, live: where it stands and why, each attempt, what it logged, what made it, and what can be done with it.
import { addressOf, api, part, stringify, useSession } from "../api.js";
import { commandText, Copy, curlText, isTooLong } from "../components/copy.js";
import { Action } from "../components/dialog.js";
import { Empty, Facts, Loading, Page, Section, Trouble } from "../components/page.js";
import { orderOf, RunAgain } from "../components/run-form.js";
import { RunLog } from "../components/run-log.js";
import { RunAttempts, RunTimeline } from "../components/run-timeline.js";
import { stateOf, Status, toneOf } from "../components/status.js";
import { announce } from "../components/toasts.js";
import { Block, inWords, Json, Progress } from "../components/value.js";
import { useLive, usePoll } from "../live.js";
import { go, Link, to } from "../router.js";
import { spanText, Time } from "../times.js";
import { html, useEffect, useRef } from "../ui.js";

const MOST = 500; // attempts: a page has up to twice as many
const SHORT = 8; // letters of an id, from its end: it begins with the time, which is the same for many

/** @param {{ id: string }} props */
export function Run({ id }) {
  const { rows, logs, problem } = useLive("run", { run: id });
  const last = useRef(/** @type {Api.Run | null} */ (null));
  const current = rows && [...rows.values()][0];
  if (current) last.current = current;
  if (!last.current) return problem ? html`<${Missing} id=${id} problem=${problem} />` : html`<${Page} title="Run"><${Loading} /><//>`;
  // Old runs are removed; what was on the page stays there, and says so.
  const gone = rows !== null && (!current || problem?.code === "RunNotFound");
  return html`<${Shown} run=${last.current} logs=${logs} gone=${gone} problem=${gone ? null : problem} />`;
}

/** @param {{ run: Api.Run, logs: Api.LogLine[], gone: boolean, problem: Failure | null }} props */
function Shown({ run, logs, gone, problem }) {
  const attempts = useAttempts(run);
  useEffect(() => announce(`The run is ${run.status}.`, { calm: true }), [run.status]);
  const heading = html`<${Link} to=${to(["jobs", run.job])}>${run.job}<//>`;
  return html`
    <${Page} title=${`${run.job} ${run.id.slice(-SHORT)}`} heading=${heading} lead=${html`<${Lead} run=${run} />`}
      actions=${!gone && html`<${RunActions} run=${run} />`}>
      <${Trouble} problem=${problem} />
      ${gone && html`<p class="notice" role="alert">This run was removed. What you see is the last that was known of it.</p>`}
      ${run.status === "running" && run.progress && html`<div class="run-progress"><${Progress} progress=${run.progress} /></div>`}
      ${!gone && html`<${Why} run=${run} />`}
      ${run.retried_by && html`<p class="run-retried">
        ↻ Retried: <${Link} to=${to(["runs", run.retried_by.id])}>run <code>${run.retried_by.id.slice(-SHORT)}</code><//> <${Status} of=${run.retried_by.status} />
      </p>`}
      <div class="run-columns">
        <div>
          <${RunTimeline} run=${run} attempts=${attempts} />
          <${RunAttempts} run=${run} attempts=${attempts} />
          <${RunLog} run=${run} logs=${logs} />
        </div>
        <div>
          <${Section} title="Input"><${Json} value=${run.input} name="Input" /><//>
          ${(run.status === "succeeded" || run.result !== null) && html`<${Section} title="Result"><${Json} value=${run.result} name="Result" /><//>`}
          <${RunCause} run=${run} />
          <${RunDetails} run=${run} />
          <${CopyAs} run=${run} />
        </div>
      </div>
    <//>
  `;
}

/**
 * Its newest attempts, asked for again whenever one begins or ends.
 * @param {Api.Run} run
 */
function useAttempts(run) {
  const after = MOST * Math.floor(Math.max(0, run.attempt - MOST) / MOST); // the newest ones
  const { data, reload } = usePoll(`/runs/${part(run.id)}/attempts`, { after }, 0);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) reload();
    first.current = false;
  }, [run.status, run.attempt]);
  return data?.items ?? [];
}

/** @param {{ run: Api.Run }} props */
function Lead({ run }) {
  return html`<span class="run-lead">
    <${Status} of=${stateOf(run)} />
    <span>Run <code title=${run.id}>${run.id.slice(-SHORT)}</code></span>
    <${Copy} text=${run.id} label="Copy id" />
  </span>`;
}

/** @param {{ id: string, problem: Failure }} props */
function Missing({ id, problem }) {
  if (problem.code !== "RunNotFound") return html`<${Page} title="Run"><${Trouble} problem=${problem} /><//>`;
  return html`
    <${Page} title="There is no such run">
      <${Empty}>
        No run <code>${id}</code> is here. It may have been removed, as old runs are, or belong to another tenant.
        <br /><${Link} to=${to(["runs"])}>All runs<//>
      <//>
    <//>
  `;
}

// What can be done with one run: end it, or have it run once more.

/** @param {{ run: Api.Run }} props */
function RunActions({ run }) {
  return html`
    ${run.finished_at !== null ? html`<${Retry} run=${run} />` : !run.cancel_requested && html`<${Cancel} run=${run} />`}
    <${RunAgain} run=${run} />
  `;
}

/** @param {{ run: Api.Run }} props */
function Cancel({ run }) {
  const running = run.status === "running";
  const text = running
    ? "A worker has it: its handler is asked to stop, and the run ends when the handler does."
    : "It has not started, and will not.";
  const cancel = async () => {
    const after = await api.post(`/runs/${part(run.id)}/cancel`);
    if (after.status === "canceled") return "The run is canceled.";
    return after.status === "running" ? "Its worker is asked to stop it." : `The run has ended already: ${after.status}.`;
  };
  return html`<${Action} label="Cancel" classes="danger" ask=${{ title: "Cancel this run?", text, action: "Cancel the run", keep: "Keep running" }} run=${cancel} />`;
}

/** @param {{ run: Api.Run }} props */
function Retry({ run }) {
  const retry = async () => {
    const made = await api.post(`/runs/${part(run.id)}/retry`);
    go(to(["runs", made.id]));
    return "This is the new run.";
  };
  const before = run.retried_by && {
    title: "Retry this run once more?",
    text: `It was retried before: that run is ${run.retried_by.status}. This makes another new run with the same input.`,
    action: "Retry once more",
    calm: true,
  };
  return html`<${Action} label="Retry" title="A new run with the same input" ask=${before} run=${retry} />`;
}

// Why a run is not running yet, what it is doing, or how it ended: the server's own sentence, kept current.

/** @type {{ [status: string]: string }} */
const QUESTIONS = {
  scheduled: "Why is it waiting?",
  queued: "Why is it waiting?",
  running: "What is it doing?",
  failed: "How did it end?",
  canceled: "How did it end?",
};
const EXECUTED_BEFORE = "Executed before"; // the store was rewound: of interest for a run that succeeded, too
const WHILE_LIVE = 2; // seconds between two polls
const AFTERWARDS = 30; // only "how long ago" changes

/** @param {{ run: Api.Run }} props */
function Why({ run }) {
  const question = QUESTIONS[run.status] ?? "Was it executed before?";
  const ended = run.finished_at !== null;
  const { data, problem, reload } = usePoll(`/runs/${part(run.id)}/why`, {}, ended ? AFTERWARDS : WHILE_LIVE);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) reload();
    first.current = false;
  }, [run.status, run.attempt, run.reason]);
  if (!QUESTIONS[run.status] && !data?.why.includes(EXECUTED_BEFORE)) return null;
  return html`
    <section class="why why-${toneOf(run.status)}" aria-label=${question}>
      <h2>${question}</h2>
      ${data ? html`<p>${inWords(data.why)}</p>` : html`<p class="faint">…</p>`}
      ${problem && problem.status !== 404 && html`<${Trouble} problem=${problem} />`}
    </section>
  `;
}

// What made a run: a schedule, an event and the run behind it, an earlier run, a bulk action, or somebody's call.

const BULK = "bulk-action"; // the job of Workbell's own that acts on many runs
const RUN_ID = "[0-9a-f]{8}-[0-9a-f-]{27}";
const ENDED_BY_BULK = new RegExp(`^canceled by bulk action (${RUN_ID})$`);

/** @param {{ run: Api.Run }} props */
function RunCause({ run }) {
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

// The particulars of a run, each a way to the other runs that share it.

// Fields that other parts of the page show.
const ELSEWHERE = [
  ...["job", "status", "attempt", "started_at", "finished_at", "updated_at", "input", "result", "error", "reason", "progress"],
  ...["schedule", "event", "parent", "retry_of", "rescheduled_from", "retried_by", "cancel_requested"],
];

/** @param {{ run: Api.Run }} props */
function RunDetails({ run }) {
  const everything = useSession().tenant === "*";
  /**
   * @param {"queue" | "tag" | "target" | "user_id"} name
   * @param {string | number | null} [value]
   */
  const other = (name, value = run[name]) => value && html`<${Link} to=${to(["runs"], { [name]: value })}>${value}<//>`;
  /** @type {Record<string, readonly [string, Child]>} */
  const facts = {
    queue: ["Queue", other("queue")],
    tag: ["Tag", other("tag")],
    key: ["Key", run.key && html`<code>${run.key}</code>`],
    priority: ["Priority", run.priority !== 0 && String(run.priority)],
    user_id: ["User", other("user_id", run.user_id ? String(run.user_id) : null)],
    target: ["Target", other("target")],
    tenant: ["Tenant", (everything || run.tenant !== "default") && run.tenant],
    created_at: ["Created", html`<${Time} at=${run.created_at} />`],
    scheduled_for: ["Due", html`<${Time} at=${run.scheduled_for} />`],
    expires_at: ["Expires", run.expires_at && html`<${Time} at=${run.expires_at} />`],
    timeout: ["Timeout", run.timeout !== null && spanText(run.timeout)],
    auto_reschedule: ["Reschedules", run.auto_reschedule !== null && `${spanText(run.auto_reschedule)} after a failure`],
    remove_delay: ["Kept for", run.remove_delay !== null && `${spanText(run.remove_delay)} after the end`],
    remove_at: ["Kept until", run.remove_at && html`<${Time} at=${run.remove_at} />`],
    error_type: ["Error type", run.status !== "succeeded" && run.error_type && html`<code>${run.error_type}</code>`],
    failures: ["Failures", run.failures > 0 && String(run.failures)],
    losses: ["Lost by a worker", run.losses > 0 && `${run.losses}×`],
    persistent: ["Lives", !run.persistent && "only as long as the server that accepted it"],
    id: ["Run", html`<code>${run.id}</code>`],
  };
  const others = Object.entries(run).filter(([name]) => !(name in facts) && !ELSEWHERE.includes(name));
  return html`
    <${Section} title="Details">
      <${Facts} facts=${[...Object.values(facts), ...others.map(plainFact)]} />
    <//>
  `;
}

/**
 * A field that this page knows nothing else about: its name and its value.
 * @param {[string, unknown]} field
 * @returns {readonly [string, Child]}
 */
function plainFact([name, value]) {
  const label = name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
  if (!value) return [label, null];
  return [label, typeof value === "string" ? value : html`<code>${stringify(value)}</code>`];
}

// The same from a terminal: commands that make such a run again, and that show this one.

const OWN = "default"; // the tenant that the command line means if none is named

/** @param {{ run: Api.Run }} props */
function CopyAs({ run }) {
  const input = stringify(run.input);
  const tenant = run.tenant === OWN ? [] : [`--tenant=${run.tenant}`];
  return html`
    <${Section} title="From a terminal" class="copy-as">
      <details>
        <summary>Make such a run again</summary>
        ${
          isTooLong(input)
            ? html`<p class="faint">The input is too long for a command line.</p>`
            : html`<${Block} name="Make it again with workbell" text=${commandText(["jobs", "run", ...tenant, "--input", input], run.job)} />`
        }
        <${Block} name="Make it again with curl" text=${curlText(addressOf("/runs"), stringify(orderOf(run)))} />
      </details>
      <details>
        <summary>Show this run</summary>
        <${Block} name="Show it with workbell" text=${commandText(["runs", "show", ...tenant], run.id)} />
        <${Block} name="Show it with curl" text=${curlText(addressOf(`/runs/${part(run.id)}`))} />
      </details>
    <//>
  `;
}
