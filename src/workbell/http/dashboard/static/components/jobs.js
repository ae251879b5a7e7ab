// What several screens say of jobs: what starts them, their limits, their last runs, and how many are running.
import { useLive } from "../live.js";
import { zone } from "../preferences.js";
import { Link, to } from "../router.js";
import { spanText, timeText } from "../times.js";
import { html } from "../ui.js";
import { Status, toneOf } from "./status.js";

// A job in words: what starts it, how it is tried again, what limits it, and whether it may start at all.

/**
 * Whether schedulers do it themselves: then nobody can enqueue or pause it, and no worker needs its code.
 * @param {Api.Job} job
 */
export const isOwn = (job) => job.handler === "workbell:clean-history";

/**
 * Whether it is data, which runs the code of another job.
 * @param {Api.Job} job
 */
export const isDefinition = (job) => job.source === "api";

/**
 * Whether it is disabled or paused, and whether the server has its code.
 * @param {{ job: Api.Job }} props
 */
export function JobMarks({ job }) {
  return html`
    ${!job.enabled && html`<${Status} of="disabled" />`}
    ${job.paused && html`<${Status} of="paused" />`}
    ${!job.here && !isOwn(job) && html`<span title="The server itself does not have its code; workers may."><${Status} of="lost" says="not known here" /></span>`}
  `;
}

/**
 * What starts it by itself. `ticks` are those of GET /upcoming that are of this job.
 * @param {{ job: Api.Job, ticks: Api.Upcoming[] }} props
 */
export function Starts({ job, ticks }) {
  const times = ticks.map((one) => [one.schedule, one.in_words]);
  if (job.schedule && !ticks.some((one) => one.schedule === job.name)) times.unshift([job.name, job.schedule]);
  if (isOwn(job)) return html`<span class="faint">by itself, as the setting clean_every says</span>`;
  if (!times.length && !job.on.length) return html`<span class="faint">when it is enqueued</span>`;
  return html`<ul>
    ${times.map(([name, text]) => html`<li key=${name}><${Link} to=${to(["schedules", name])}>${text}<//></li>`)}
    ${job.on.map((pattern) => html`<li key=${pattern}>on <${Link} to=${to(["events"], { type: pattern })}><code>${pattern}</code><//></li>`)}
  </ul>`;
}

/**
 * "1 s" and "1 min", as a person writes a setting.
 * @param {number} seconds
 */
const settingText = (seconds) => spanText(seconds).replace(/\.0 s$/, " s").replace(/ 00 s$/, "");

const USUAL = { attempts: 3, delay: 1, factor: 2, cap: 60 }; // of a job that says nothing about it

/**
 * "4 tries: 1 s after the first failure, then 2 times as long each time, at most 1 min."
 * @param {Api.Job["retry"]} said
 */
export function retryText(said) {
  const retry = { ...USUAL, ...said };
  if (retry.attempts === 1) return "one attempt only";
  const tries = `${retry.attempts.toLocaleString("en")} attempts`;
  if (!retry.delay) return `${tries}, at once after each failure`;
  if (retry.factor === 1) return `${tries}, ${settingText(retry.delay)} apart`;
  return `${tries}: ${settingText(retry.delay)} after the first failure, then ${retry.factor} times as long each time, at most ${settingText(retry.cap)}`;
}

/**
 * How many at once, and how many in a span; for all, or for each value of an argument.
 * @param {Api.Job} job
 */
export function limitTexts(job) {
  /** @param {string | null} key */
  const each = (key) => (key ? ` for each ${key}` : "");
  return [
    job.concurrency && `${job.concurrency.toLocaleString("en")} at once${each(job.concurrency_key)}`,
    job.rate && `${job.rate}${each(job.rate_key)}`,
  ].filter(Boolean);
}

// The last runs of a job as a row of bars: colour and shape for how each ended, height for how long it took. One that
// failed is always as high as can be: most fail at once, and would be the least to be seen.

/**
 * `runs` newest first, as GET /recent tells them; shown oldest first, as people read. Each bar leads to its run.
 * @param {{ runs: Api.Recent["runs"], running: number | undefined }} props
 */
export function Strip({ runs, running }) {
  const bars = useBars(runs);
  if (!runs.length) return html`<${None} running=${running} />`;
  return html`<ol class="strip">
    ${bars.map(
      (bar) => html`<li key=${bar.id}><${Link} to=${to(["runs", bar.id])} class=${bar.classes} title=${bar.text} aria-label=${bar.text}>${bar.shape}<//></li>`,
    )}
  </ol>`;
}

/**
 * The same within a row of a table: too narrow to be hit one by one, and too many to tab through, so one link to all.
 * @param {{ job: string, runs: Api.Recent["runs"], running: number | undefined }} props
 */
export function StripLink({ job, runs, running }) {
  const bars = useBars(runs);
  if (!runs.length) return html`<${None} running=${running} />`;
  const counts = new Map();
  for (const { status } of runs) counts.set(status, (counts.get(status) ?? 0) + 1);
  const text = `The last runs of ${job}: ${[...counts].map(([status, count]) => `${count} ${status}`).join(", ")}`;
  return html`<${Link} class="strip" to=${to(["runs"], { job })} aria-label=${text}>
    ${bars.map((bar) => html`<span key=${bar.id} class=${bar.classes} title=${bar.text}>${bar.shape}</span>`)}
  <//>`;
}

/**
 * Nothing has finished: that may be because it still runs.
 * @param {{ running: number | undefined }} props
 */
const None = ({ running }) => html`<span class="faint">${running ? `${running.toLocaleString("en")} running, ` : ""}none finished yet</span>`;

/** @param {Api.Recent["runs"]} runs */
function useBars(runs) {
  const choice = zone.use();
  const longest = Math.max(...runs.filter((run) => run.status === "succeeded").map((run) => run.duration ?? 0), 0.001);
  return [...runs].reverse().map((run) => {
    const share = run.status === "failed" ? 1 : Math.min(1, Math.max(0.2, Math.sqrt((run.duration ?? 0) / longest)));
    return {
      id: run.id,
      classes: `strip-bar strip-${toneOf(run.status)}`,
      text: `${run.status}, ${spanText(run.duration)}, ${timeText(run.finished_at, choice)}`,
      shape: html`<span style=${{ height: `${Math.round(share * 100)}%` }}></span>`,
    };
  });
}

/**
 * A share in percent: 0 and 100 are said only of none and all.
 * @param {number} part
 * @param {number} whole
 */
export function shareText(part, whole) {
  const share = Math.round((100 * part) / Math.max(1, whole));
  if (share === 0 && part > 0) return "< 1 %";
  return share === 100 && part < whole ? "> 99 %" : `${share} %`;
}

// How many runs of each job are running now.

const MOST = 200;

/** A Map from the name of a job to how many of its runs are running, among the newest 200 that are. */
export function useRunning(filter = {}) {
  const { rows } = useLive("runs", { ...filter, status: "running", limit: MOST });
  const count = new Map();
  for (const run of rows?.values() ?? []) count.set(run.job, (count.get(run.job) ?? 0) + 1);
  return count;
}
