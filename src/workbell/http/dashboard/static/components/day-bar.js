// The day of a schedule on a bar of 24 hours, by the clock of its own zone: its window, what became of its ticks until
// now (by the ledger: only what really was), and what is to come.
import { part } from "../api.js";
import { usePoll } from "../live.js";
import { useNow, wallClock } from "../times.js";
import { html, useEffect, useMemo } from "../ui.js";
import { OUTSIDE } from "./schedules.js";

const DAY = 86_400;
const MOST = 1000; // marks on the bar
const MANY = 60; // thinner marks
/** @type {{ [outcome: string]: string }} */
const BEEN = { fired: "started", deferred: "put off" };

/** @import { WallClock } from "../times.js" */
/**
 * @typedef {{ ticks: { second: number, clock: string, outcome: Api.Tick["outcome"], count: number }[], more: boolean }} Been
 * @typedef {{ second: number, clock: string, note: string | null }} Coming
 */

/** @param {{ schedule: Api.Schedule }} props */
export function DayBar({ schedule }) {
  const now = useNow();
  const here = wallClock(now, schedule.timezone);
  const date = here?.date ?? null;
  const path = /** @type {const} */ (`/schedules/${part(schedule.name)}`);
  // From where the ledger ends: what is due by then has its entry there.
  const after = useMemo(() => new Date(Math.max(now, schedule.last_scheduled_at ? Date.parse(schedule.last_scheduled_at) : 0)).toISOString(), [date, schedule.last_scheduled_at]);
  const { data: preview } = usePoll(date && idle(schedule) === null ? `${path}/preview` : null, { after, n: MOST }, 0);
  const { data: ledger, reload } = usePoll(date ? `${path}/ticks` : null, { limit: MOST }, 0);
  const stands = `${schedule.last_scheduled_at} ${schedule.last_fire_at} ${schedule.last_run_id}`;
  useEffect(() => {
    if (ledger) reload();
  }, [stands]);
  if (!here) return html`<p class="faint">This browser does not know the zone ${schedule.timezone}, so it cannot draw its day.</p>`;
  return html`<${Day} schedule=${schedule} here=${here} been=${ledger && beenOf(ledger.items, here.date, schedule.timezone)}
    coming=${idle(schedule) === null ? preview && comingOf(preview, here.date) : []} />`;
}

/**
 * Why nothing is to come; null, if something may be.
 * @param {{ enabled: boolean, paused: boolean }} given
 */
const idle = ({ enabled, paused }) => (paused ? "paused" : enabled ? null : "disabled");

/**
 * The entries of the ledger of a date, as {second, clock, outcome, count}, oldest first; `more`: not all were read.
 * @param {Api.Tick[]} ticks
 * @param {string} date
 * @param {string} zone
 */
function beenOf(ticks, date, zone) {
  const all = ticks.map((tick) => ({ date: "", second: 0, ...wallClock(tick.due, zone), outcome: tick.outcome, count: tick.count }));
  const today = all.filter((one) => one.date === date).map((one) => ({ ...one, clock: clockOf(one.second) }));
  return { ticks: today.reverse(), more: ticks.length === MOST && all.at(-1)?.date === date };
}

/** @param {number} second */
const clockOf = (second) => new Date(second * 1000).toISOString().slice(11, second % 60 ? 19 : 16);

/**
 * The ticks to come of a date, as {second, clock, note}; null, if there are too many.
 * @param {{ local: string[], notes: (string | null)[] }} given
 * @param {string} date
 */
function comingOf({ local, notes }, date) {
  if (local.length === MOST && local[MOST - 1].startsWith(date)) return null;
  const all = local.map((text, index) => ({ text, note: notes[index] })).filter((one) => one.text.startsWith(date));
  return all.map(({ text, note }) => {
    const [hour, minute, second] = text.slice(11, 19).split(":").map(Number);
    return { second: hour * 3600 + minute * 60 + second, clock: text.slice(11, second ? 19 : 16), note };
  });
}

/** @param {string} clock */
const secondOf = (clock) => clock.split(":").reduce((sum, number) => sum * 60 + Number(number), 0) * 60;

/**
 * The parts of the day in which runs may start: one, or two if it goes over midnight.
 * @param {Api.Schedule["window"]} window
 */
function partsOf(window) {
  if (!window) return [[0, DAY]];
  const [from, until] = window.map(secondOf);
  return from < until ? [[from, until]] : [[0, until], [from, DAY]].filter(([start, end]) => start < end);
}

/** @param {{ schedule: Api.Schedule, here: WallClock, been: Been | null, coming: Coming[] | null | undefined }} props */
function Day({ schedule, here, been, coming }) {
  const open = partsOf(schedule.window);
  const inside = open.some(([start, end]) => start <= here.second && here.second < end);
  const text = sayDay(schedule, here, been, coming, inside);
  const dense = (been?.ticks.length ?? 0) + (coming?.length ?? 0) > MANY;
  const list = [
    ...(been?.ticks ?? []).map((one) => ({ key: `been ${one.clock}`, text: `${one.clock} ${BEEN[one.outcome] ?? "no run"}` })),
    ...(coming ?? []).map((one) => ({ key: `coming ${one.clock} ${one.note}`, text: `${one.clock} to come${one.note ? ` (${one.note})` : ""}` })),
  ];
  return html`
    <figure class="day">
      <svg class="day-bar ${dense ? "day-dense" : ""}" viewBox="0 0 ${DAY} 40" preserveAspectRatio="none" role="img" aria-label=${text}>
        ${open.map(([start, end]) => html`<rect key=${start} class="day-open" x=${start} y="0" width=${end - start} height="40" />`)}
        <path class="day-fired" d=${pathOf(been?.ticks.filter((one) => one.outcome === "fired"))} />
        <path class="day-none" d=${pathOf(been?.ticks.filter((one) => one.outcome !== "fired"))} />
        <path class="day-coming" d=${pathOf(coming ?? [])} />
        <path class="day-now" d="M${here.second} 0V40" />
      </svg>
      <div class="day-hours" aria-hidden="true">${[0, 6, 12, 18, 24].map((hour) => html`<span key=${hour}>${String(hour).padStart(2, "0")}:00</span>`)}</div>
      <figcaption>
        <span class="chart-legend" aria-hidden="true">
          <span><i class="day-key day-key-open"></i>runs may start</span>
          <span><i class="day-key day-key-fired"></i>run started</span>
          <span><i class="day-key day-key-none"></i>no run, or put off</span>
          <span><i class="day-key day-key-coming"></i>to come</span>
          <span><i class="day-key day-key-now"></i>now</span>
        </span>
        <span>${text}</span>
      </figcaption>
      ${list.length > 0 && html`<details>
        <summary>As a list</summary>
        <ul class="day-list">${list.map((one) => html`<li key=${one.key}>${one.text}</li>`)}</ul>
      </details>`}
    </figure>
  `;
}

/** @param {{ second: number }[]} [runs] */
const pathOf = (runs = []) => runs.map((one) => `M${one.second} 8V32`).join("") || "M0 0";

/**
 * @param {Api.Schedule} schedule
 * @param {WallClock} here
 * @param {Been | null} been
 * @param {Coming[] | null | undefined} coming
 * @param {boolean} inside
 */
function sayDay(schedule, here, been, coming, inside) {
  const { window, outside, timezone } = schedule;
  const clock = new Date(here.second * 1000).toISOString().slice(11, 16);
  const over = window && window[0] > window[1] ? ", over midnight" : "";
  const first = window
    ? `Runs may start from ${window[0]} to ${window[1]}${over} (${timezone}); a tick outside ${OUTSIDE[outside]}.`
    : `Runs may start at any time of the day (${timezone}).`;
  const second = `Now it is ${clock}${window ? (inside ? ", in the window" : ", outside the window") : ""}.`;
  return `${first} ${second} ${been ? sayBeen(been) : ""} ${coming === undefined ? "" : sayComing(coming, schedule)}`.trim();
}

/** @param {Been} given */
function sayBeen({ ticks, more }) {
  const fired = ticks.filter((one) => one.outcome === "fired");
  const later = ticks.filter((one) => one.outcome === "deferred").length;
  const left = ticks.filter((one) => !BEEN[one.outcome]).reduce((sum, one) => sum + one.count, 0);
  const least = more ? "at least " : "";
  const started = fired.length ? `${least}${fired.length.toLocaleString("en")} ${fired.length === 1 ? "run was" : "runs were"} started today` : "No run was started today";
  const clocks = fired.length && fired.length <= 6 ? `: ${fired.map((one) => one.clock).join(", ")}` : "";
  const putOff = later ? `; ${later.toLocaleString("en")} ${later === 1 ? "tick was" : "ticks were"} put off` : "";
  return `${started}${clocks}${putOff}${left ? `; ${left.toLocaleString("en")} ${left === 1 ? "tick" : "ticks"} made no run` : ""}.`.replace(/^at/, "At");
}

/**
 * @param {Coming[] | null} coming
 * @param {Api.Schedule} schedule
 */
function sayComing(coming, schedule) {
  if (coming === null) return `More than ${MOST.toLocaleString("en")} are to come today, too many to draw.`;
  if (idle(schedule)) return `None is to come: the schedule is ${idle(schedule)}.`;
  if (!coming.length) return "None is to come today.";
  return `${coming.length.toLocaleString("en")} more ${coming.length === 1 ? "is" : "are"} to come${coming.length <= 6 ? `: ${coming.map((one) => one.clock).join(", ")}` : ""}.`;
}
