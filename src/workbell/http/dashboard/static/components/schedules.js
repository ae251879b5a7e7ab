// What several screens say of schedules: their settings in words, their state, and their next ticks.
import { Link, to } from "../router.js";
import { Time, timeText, useNow } from "../times.js";
import { html } from "../ui.js";
import { Status } from "./status.js";
import { Table } from "./table.js";

// Schedules in plain words: what their settings mean, who declares them, and what a change by hand comes to.

/** A tick while an earlier run of the schedule lives. */
export const OVERLAP = {
  skip: "skip this one",
  queue_one: "let one wait until it has ended",
  allow: "start all the same",
  cancel_previous: "cancel the earlier run, then start",
};

/** Ticks that no scheduler was there for. */
export const CATCH_UP = {
  latest: "one run for all that were missed",
  all: "a run for each that was missed",
  none: "no run",
};

/** A tick outside the window. */
export const OUTSIDE = {
  defer: "waits until the window opens, one run for all such ticks",
  skip: "makes no run",
};

/**
 * Which schedules have their words from a program, and will get them from it again.
 * @param {Pick<Api.Schedule, "source">} given
 */
export const isDeclared = ({ source }) => source.startsWith("code:") || source.startsWith("file:");

/**
 * Who declared it.
 * @param {Pick<Api.Schedule, "source">} given
 */
export function sourceText({ source }) {
  const [kind, ...project] = source.split(":");
  if (kind === "code") return `in the code of ${project.join(":")}`;
  if (kind === "file") return `by a job file of ${project.join(":")}`;
  return kind === "api" ? "by hand: the dashboard, the command line or the API" : `by hand (${source})`;
}

/**
 * What changing or deleting it here comes to, if a program declares it.
 * @param {Api.Schedule} schedule
 */
export function declaredText(schedule) {
  const again = "A running scheduler of that program declares it again every minute, and at every start";
  return `This schedule is declared ${sourceText(schedule)}. ${again}: what is changed or deleted here comes back as it is declared there. Change it there to last. A pause stays.`;
}

/**
 * Whether it ticks: a word for its state, and what there is to say.
 * @param {Api.Schedule} schedule
 */
function stateOf({ enabled, paused, reason, broken, last_error }) {
  if (broken) return { state: "broken", reason: last_error };
  if (paused) return { state: "paused", reason: reason === "paused" ? null : reason };
  return enabled ? { state: "enabled", reason: null } : { state: "disabled", reason };
}

const UNITS = { d: 86_400, h: 3600, m: 60, s: 1 };
const SPAN = /^(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?$/;

/**
 * Seconds of a span such as 90, 30s, 5m, 1h30m or 2d; null, if it is none.
 * @param {string} text
 */
export function secondsOf(text) {
  const found = text.replace(/\s+/g, "").match(SPAN);
  return found && found.slice(1).reduce((sum, number, index) => sum + Number(number ?? 0) * Object.values(UNITS)[index], 0);
}

/**
 * The other way round: 5400 is 1h30m.
 * @param {number} seconds
 */
export function spanWords(seconds) {
  let left = seconds;
  let text = "";
  for (const [unit, size] of Object.entries(UNITS)) {
    const number = unit === "s" ? left : Math.floor(left / size);
    if (number) text += `${unit === "s" ? Number(number.toFixed(6)) : number}${unit}`;
    left -= number * size;
  }
  return text || "0s";
}

// How a schedule stands: whether it ticks, when next, and what came of the last tick.

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

// The ticks to come: by the schedule's own clock and by that of the page, with what a change of the clocks does to them.

/**
 * `ticks` as previews tell them: {timezone, items, local, notes}.
 * @param {{ ticks: Api.Ticks, caption?: string }} props
 */
export function NextTicks({ ticks, caption = "Next runs" }) {
  const rows = ticks.items.map((at, index) => ({ at, local: ticks.local[index], note: ticks.notes[index] }));
  if (!rows.length) return html`<p class="faint">No run is to come.</p>`;
  /** @type {Column<{ at: string, local: string, note: string | null }>[]} */
  const columns = [
    { name: ticks.timezone, classes: "when", cell: (row) => html`<${Own} row=${row} zone=${ticks.timezone} />` },
    { name: "Your time", classes: "when", cell: (row) => html`<div class="stacked"><${Time} at=${row.at} /><span class="faint"><${Time} at=${row.at} ago /></span></div>` },
  ];
  return html`<${Table} caption=${caption} columns=${columns} rows=${rows} keyOf=${(row) => row.at} rowClass=${(row) => (row.note ? "clock-change" : "")} />`;
}

/**
 * By the schedule's own clock, with what a change of it does; as the server has written it, if the browser does not know the zone.
 * @param {{ row: { at: string, local: string, note: string | null }, zone: string }} props
 */
function Own({ row, zone }) {
  const now = new Date(useNow());
  let text = row.local;
  try {
    text = timeText(row.at, zone, now);
  } catch {
    // The server's zones may be newer than the browser's.
  }
  return html`<div class="stacked">
    <time dateTime=${row.local}>${text}</time>
    ${row.note && html`<span class="clock-note"><span aria-hidden="true">◑</span> ${row.note}</span>`}
  </div>`;
}
