// How a schedule stands: whether it ticks, when next, and what came of the last tick.
import { Link, to } from "../router.js";
import { Time, useNow } from "../times.js";
import { html } from "../ui.js";
import { stateOf } from "./schedule-words.js";
import { Status } from "./status.js";

/**
 * Enabled, paused or disabled, with the reason.
 * @param {{ schedule: Api.Schedule }} props
 */
export function State({ schedule }) {
  const { state, reason } = stateOf(schedule);
  return html`<div class="stacked"><${Status} of=${state} />${reason && html`<span class="faint">${reason}</span>`}</div>`;
}

const LATE = 60_000;

/**
 * The next tick: in how long, and when; one that is a minute late means that no scheduler runs.
 * @param {{ schedule: Api.Schedule }} props
 */
export function NextTick({ schedule }) {
  const now = useNow();
  if (!schedule.next_run_at || schedule.broken) return html`<span class="faint">none to come</span>`;
  const late = now - Date.parse(schedule.next_run_at) > LATE;
  return html`<div class="stacked">
    <${Time} at=${schedule.next_run_at} ago />${late && html`<${Status} of="warning" says="does a scheduler run?" />`}<span class="faint"><${Time} at=${schedule.next_run_at} /></span>
  </div>`;
}

/**
 * The last outcome, with its run.
 * @param {{ schedule: Api.Schedule }} props
 */
export function LastOutcome({ schedule }) {
  const { last_status: status, last_run_id: run, last_run_at: ran, last_fire_at: fired } = schedule;
  if (!status) return html`<span class="faint">never ran</span>`;
  const shown = status === "success" ? "succeeded" : status === "scheduler_failed" ? "failed" : status;
  return html`
    <div class="stacked">
      <${Status} of=${shown} says=${status === "scheduler_failed" ? "the scheduler failed" : shown} />
      <span class="faint">
        <${Time} at=${ran ?? fired} ago />
        ${run && html` · <${Link} to=${to(["runs", run])} aria-label=${`The last run of ${schedule.name}`}>run<//>`}
      </span>
    </div>
  `;
}
