// One job: how its runs go, what it is made of, and running it by hand.
import { api, part, useMay } from "../api.js";
import { commandText } from "../components/copy.js";
import { Action } from "../components/dialog.js";
import { isDefinition, isOwn, JobMarks, limitTexts, retryText, Starts, Strip, useRunning } from "../components/jobs.js";
import { Empty, Facts, Loading, Page, Section, Trouble } from "../components/page.js";
import { FileProblem, useFileProblems } from "../components/reloads.js";
import { RunNow } from "../components/run-form.js";
import { RunTable } from "../components/run-table.js";
import { Settled } from "../components/table.js";
import { useLive, usePoll } from "../live.js";
import { Link, to } from "../router.js";
import { spanText, Time } from "../times.js";
import { html, useState } from "../ui.js";

const NEWEST = 10;

/** @param {{ name: string }} props */
export function Job({ name }) {
  const { data: job, problem, reload } = usePoll(`/jobs/${part(name)}`, {}, 2);
  if (!job) return html`<${Page} title=${name}>${problem ? html`<${Trouble} problem=${problem} />` : html`<${Loading} />`}<//>`;
  const heading = html`${name} <${JobMarks} job=${job} />`;
  return html`
    <${Page} title=${name} heading=${heading} lead=${job.description} actions=${!isOwn(job) && html`<${Actions} job=${job} reload=${reload} />`}>
      <${Trouble} problem=${problem} />
      <${OwnProblems} name=${name} />
      <${HowItGoes} name=${name} />
      <${Made} job=${job} />
      <${Newest} name=${name} />
    <//>
  `;
}

/** @param {{ job: Api.Job, reload: Reload }} props */
function Actions({ job, reload }) {
  const [open, setOpen] = useState(false);
  const may = useMay("enqueue");
  /**
   * @param {"pause" | "resume" | "enable" | "disable"} verb
   * @param {string} text
   */
  const turn = (verb, text) => async () => {
    await api.post(`/jobs/${part(job.name)}/${verb}`);
    await reload();
    return `${job.name} is ${text}`;
  };
  const pause = job.paused ? turn("resume", "resumed.") : turn("pause", "paused: no run of it starts until it is resumed.");
  const enable = job.enabled ? turn("disable", "disabled: it takes no new runs, and those that wait go on waiting.") : turn("enable", "enabled.");
  return html`
    ${may && job.enabled && html`<button type="button" class="primary" onClick=${() => setOpen(true)}>Run now</button>`}
    <${Action} label=${job.paused ? "Resume" : "Pause"} run=${pause} />
    ${isDefinition(job) && html`<${Action} label=${job.enabled ? "Disable" : "Enable"} run=${enable} />`}
    ${open && html`<${RunNow} job=${job} onClose=${() => setOpen(false)} />`}
  `;
}

/** @param {{ name: string }} props */
function OwnProblems({ name }) {
  const own = (useFileProblems() ?? []).filter((one) => one.jobs.includes(name));
  return own.map((one) => html`<${FileProblem} key=${one.id} problem=${one} elsewhere=${false} />`);
}

/**
 * The runs that finished in the last hour, how long it takes, and the last runs as bars.
 * @param {{ name: string }} props
 */
function HowItGoes({ name }) {
  const { data: tallies } = usePoll("/tallies", { job: name, minutes: 60 }, 5);
  const { data: recent, problem } = usePoll("/recent", { job: name, limit: 40 }, 3);
  const ends = tallies && (tallies.jobs[0] ?? { succeeded: 0, failed: 0, canceled: 0, retried: 0 });
  const last = recent?.items[0];
  const running = useRunning({ job: name }).get(name);
  /**
   * @param {"succeeded" | "failed" | "canceled"} status
   * @param {string} text
   */
  const count = (status, text) =>
    html`<${Link} class="figure" to=${to(["runs"], { job: name, status })}><b>${ends ? ends[status].toLocaleString("en") : "–"}</b><span>${text}</span><//>`;
  const measured = last?.count ?? 0;
  const durations = [
    ["Median", spanText(last?.p50)],
    ["95 % finish within", spanText(last?.p95)],
    ["Longest", spanText(last?.longest)],
  ];
  return html`
    <div class="figures">
      ${count("succeeded", "succeeded in the last hour")}
      ${count("failed", "failed in the last hour")}
      ${count("canceled", "canceled in the last hour")}
      <div class="figure"><b>${ends ? ends.retried.toLocaleString("en") : "–"}</b><span>attempts retried in the last hour</span></div>
    </div>
    ${
      last &&
      measured > 0 &&
      html`<${Section} title=${`Durations of the last ${measured === 1 ? "finished run" : `${measured} finished runs`}`}>
        <${Facts} facts=${[...durations, ["Failed", `${last.failed} of ${measured}`], ["Since", html`<${Time} at=${last.since} />`]]} />
      <//>`
    }
    <${Section} title="Last runs" class="job-strip">
      ${last ? html`<${Strip} runs=${last.runs} running=${running} />` : html`<${Trouble} problem=${problem} />${!problem && html`<${Loading} />`}`}
    <//>
  `;
}

/**
 * Where it comes from, what starts it, and what it may do.
 * @param {{ job: Api.Job }} props
 */
function Made({ job }) {
  const { data: upcoming } = usePoll("/upcoming", { limit: 100 }, 2);
  const ticks = (upcoming?.items ?? []).filter((one) => one.job === job.name);
  const limits = limitTexts(job);
  const facts = [
    ["File", job.file_path && html`<code>${job.file_path}</code>`],
    ["Handler", isDefinition(job) && job.handler !== job.name ? html`<${Link} to=${to(["jobs", job.handler])}>${job.handler}<//>` : html`<code>${job.handler}</code>`],
    ["Input template", job.input && html`<code>${JSON.stringify(job.input)}</code>`],
    ["State", job.enabled ? job.unserved : "disabled: it takes no new runs, and those that wait go on waiting"],
    ["Queue", html`<${Link} to=${to(["queues", job.queue])}>${job.queue}<//>`],
    ["Starts", html`<${Starts} job=${job} ticks=${ticks} />`],
    ["Next", ticks.length > 0 && html`<${Time} at=${ticks[0].due} />`],
    ["When it fails", retryText(job.retry)],
    ["Time limit", job.timeout === null ? "none" : `${spanText(job.timeout)} for each attempt`],
    ["Limits", limits.length ? html`<ul>${limits.map((text) => html`<li key=${text}>${text}</li>`)}</ul>` : "none"],
    ["Alert URL", job.alert_url && html`<code>${job.alert_url}</code>`],
    ["Ping URL", job.ping_url && html`<code>${job.ping_url}</code>`],
  ];
  return html`<${Section} title="How it runs"><${Facts} facts=${facts} /><//>`;
}

/** @param {{ name: string }} props */
function Newest({ name }) {
  const { rows: found, problem } = useLive("runs", { job: name, limit: NEWEST });
  const sorted = [...(found?.values() ?? [])].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, NEWEST);
  const all = html`<${Link} to=${to(["runs"], { job: name })}>All of its runs<//>`;
  return html`
    <${Section} title="Newest runs" actions=${all}>
      <${Trouble} problem=${problem} />
      ${
        found &&
        html`<${Settled} found=${sorted} empty=${html`<${Empty} code=${commandText(["jobs", "run"], name)}>It has not run yet.<//>`}>
          ${(rows) => html`<${RunTable} rows=${rows} caption=${`Newest runs of ${name}`} />`}
        <//>`
      }
    <//>
  `;
}
