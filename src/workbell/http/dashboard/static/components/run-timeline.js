// The life of a run: a bar drawn to scale, and the same as a list from the moment it was made to its end.
import { between, spanText, Time, useNow } from "../times.js";
import { html } from "../ui.js";
import { Section } from "./page.js";
import { Status } from "./status.js";
import { dueOf, LifeBar } from "./run-life.js";

const SHOWN = 20; // attempts; of more, the latest

/** @param {{ run: Api.Run, attempts: Api.Attempt[] }} props */
export function RunTimeline({ run, attempts }) {
  const shown = attempts.slice(-SHOWN);
  return html`
    <${Section} title="Timeline">
      <${LifeBar} run=${run} attempts=${attempts} />
      <ol class="timeline">${stepsOf(run, shown, Math.max(0, (shown[0]?.number ?? 1) - 1))}</ol>
    <//>
  `;
}

/**
 * The steps as items of a list, oldest first.
 * @param {Api.Run} run
 * @param {Api.Attempt[]} attempts
 * @param {number} leftOut
 */
function stepsOf(run, attempts, leftOut) {
  /** @type {Child[]} */
  const steps = [html`<${Step} key="made" at=${run.created_at} kind="made">Created<//>`];
  if (leftOut > 0) steps.push(html`<${Pause} key="more">${leftOut.toLocaleString("en")} earlier attempts<//>`);
  let before = leftOut > 0 ? null : run.created_at;
  let said = null; // the error that stands above
  for (const attempt of attempts) {
    const line = attempt.error && attempt.status !== "succeeded" ? headline(attempt.error) : null;
    steps.push(...waitSteps(run, attempt.number, before, attempt.started_at));
    steps.push(html`<${Attempt} key=${attempt.number} attempt=${attempt} error=${line === said ? null : line} again=${line !== null && line === said} />`);
    before = attempt.finished_at;
    said = line ?? said;
  }
  if (run.status === "scheduled" && !attempts.length) steps.push(...waitSteps(run, 1, before, null));
  steps.push(html`<${Last} key="last" run=${run} attempts=${attempts} />`);
  return steps;
}

/**
 * How long it was held back on purpose (a delay, a pause before a retry), and how long it then waited for a worker.
 * @param {Api.Run} run
 * @param {number} number
 * @param {string | null} before
 * @param {string | null} start
 */
function waitSteps(run, number, before, start) {
  /** @type {Child[]} */
  const steps = [];
  const due = dueOf(run, number, before, start);
  /**
   * @param {string} key
   * @param {string} text
   */
  const pause = (key, text) => html`<${Pause} key=${`${key} ${number}`}>${text}<//>`;
  if (due) {
    steps.push(pause("delay", `delayed ${spanText(between(before, due))}`));
    steps.push(html`<${Step} key=${`due ${number}`} at=${due} kind="waiting">${start ? "Due" : html`Due <${Time} at=${due} ago />`}<//>`);
  }
  const waited = between(due ?? before, start);
  if (waited !== null && waited > 0) steps.push(pause("wait", due || number === 1 ? `waited ${spanText(waited)} in the queue` : `waited ${spanText(waited)}`));
  return steps;
}

/** @param {{ at: string | null, kind: string, children?: Child }} props */
function Step({ at, kind, children }) {
  return html`<li class="step step-${kind}"><span class="step-time"><${Time} at=${at} /></span><span class="step-text">${children}</span></li>`;
}

/** @param {{ children?: Child }} props */
function Pause({ children }) {
  return html`<li class="step step-pause"><span class="step-time"></span><span class="step-text faint">${children}</span></li>`;
}

/**
 * `error` is its first line, `again` whether it is that of the attempt before.
 * @param {{ attempt: Api.Attempt, error: string | null, again: boolean }} props
 */
function Attempt({ attempt, error, again }) {
  const { number, status, started_at: start, finished_at: end, worker } = attempt;
  return html`<${Step} at=${start} kind="attempt">
    <span>Attempt ${number}</span> <${Status} of=${status} />
    <span>${end ? ` after ${spanText(between(start, end))}` : html` for <${Since} at=${start} />`}</span>
    ${again && html`<span> with the same error</span>`}
    ${worker && html`<span class="faint"> on ${worker}</span>`}
    ${error && html`<span class="step-error">${error}</span>`}
  <//>`;
}

/**
 * Where it stands now, or how it ended.
 * @param {{ run: Api.Run, attempts: Api.Attempt[] }} props
 */
function Last({ run, attempts }) {
  const reason = run.reason ? html`<span class="faint"> (${run.reason})</span>` : null;
  if (run.finished_at) {
    return html`<${Step} at=${run.finished_at} kind="end">
      <${Status} of=${run.status} /> ${spanText(between(run.created_at, run.finished_at))} after it was created${reason}
    <//>`;
  }
  if (run.status === "running") return null;
  if (run.status === "scheduled") {
    if (!attempts.length) return null; // its time to start is above
    return html`<${Step} at=${run.scheduled_for} kind="waiting">Attempt ${run.attempt + 1} is due <${Time} at=${run.scheduled_for} ago />${reason}<//>`;
  }
  return html`<${Step} at=${run.updated_at} kind="waiting"><${Status} of="queued" /> for <${Since} at=${run.updated_at} /><//>`;
}

/** @param {{ at: string }} props */
function Since({ at }) {
  return spanText(Math.max(0, Math.round((useNow() - Date.parse(at)) / 1000)));
}

/**
 * The first line of an error says what it is.
 * @param {string} error
 */
export const headline = (error) => error.trim().split("\n")[0];
