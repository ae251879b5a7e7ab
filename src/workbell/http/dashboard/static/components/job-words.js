// A job in words: what starts it, how it is tried again, what limits it, and whether it may start at all.
import { Link, to } from "../router.js";
import { spanText } from "../times.js";
import { html } from "../ui.js";
import { Status } from "./status.js";

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
