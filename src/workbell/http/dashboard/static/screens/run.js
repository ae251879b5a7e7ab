// One run, live: where it stands and why, each attempt, what it logged, what made it, and what can be done with it.
import { part } from "../api.js";
import { Copy } from "../components/copy.js";
import { CopyAs } from "../components/copy-as.js";
import { Empty, Loading, Page, Section, Trouble } from "../components/page.js";
import { Progress } from "../components/progress.js";
import { RunActions } from "../components/run-actions.js";
import { RunAttempts } from "../components/run-attempts.js";
import { RunCause } from "../components/run-cause.js";
import { RunDetails } from "../components/run-details.js";
import { RunLog } from "../components/run-log.js";
import { RunTimeline } from "../components/run-timeline.js";
import { Status, stateOf } from "../components/status.js";
import { announce } from "../components/toasts.js";
import { Json } from "../components/value.js";
import { Why } from "../components/why.js";
import { useLive } from "../live.js";
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
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
      ${run.retried_by && html`<p class="run-retried">↻ Retried: <${Link} to=${to(["runs", run.retried_by.id])}>run <code>${run.retried_by.id.slice(-SHORT)}</code><//> <${Status} of=${run.retried_by.status} /></p>`}
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
