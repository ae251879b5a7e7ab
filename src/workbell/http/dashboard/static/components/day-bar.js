// The day of a schedule on a bar of 24 hours, by the clock of its own zone: its window, its runs of today, and now.
import { part } from "../api.js";
import { usePoll } from "../poll.js";
import { useNow, wallClock } from "../times.js";
import { html, useMemo } from "../ui.js";
import { OUTSIDE } from "./schedule-words.js";

const DAY = 86_400;
const MOST = 1000; // marks on the bar
const MANY = 60; // thinner marks
const EARLIER = 3 * 3600; // where the day began is only known up to a change of the clocks

export function DayBar({ schedule }) {
  const now = useNow();
  const here = wallClock(now, schedule.timezone);
  const date = here?.date ?? null;
  const after = useMemo(() => here && new Date(now - (here.second + EARLIER) * 1000).toISOString(), [date]);
  const { data } = usePoll(date && `/schedules/${part(schedule.name)}/preview`, { after, n: MOST }, 0);
  if (!here) return html`<p class="faint">This browser does not know the zone ${schedule.timezone}, so it cannot draw its day.</p>`;
  return html`<${Day} schedule=${schedule} here=${here} today=${data ? todayOf(data, date) : undefined} />`;
}

/** The runs of a date, as {second, clock, note}; null, if there are too many. */
function todayOf({ local, notes }, date) {
  if (local.length === MOST && local[MOST - 1].startsWith(date)) return null;
  const all = local.map((text, place) => ({ text, note: notes[place] })).filter((one) => one.text.startsWith(date));
  return all.map(({ text, note }) => {
    const [hour, minute, second] = text.slice(11, 19).split(":").map(Number);
    return { second: hour * 3600 + minute * 60 + second, clock: text.slice(11, second ? 19 : 16), note };
  });
}

const secondOf = (clock) => clock.split(":").reduce((sum, number) => sum * 60 + Number(number), 0) * 60;

/** The parts of the day in which runs may start: one, or two if it goes over midnight. */
function partsOf(window) {
  if (!window) return [[0, DAY]];
  const [from, until] = window.map(secondOf);
  return from < until ? [[from, until]] : [[0, until], [from, DAY]].filter(([start, end]) => start < end);
}

function Day({ schedule, here, today }) {
  const open = partsOf(schedule.window);
  const inside = open.some(([start, end]) => start <= here.second && here.second < end);
  const text = sayDay(schedule, here, today, inside);
  const past = pathOf(today?.filter((one) => one.second <= here.second));
  const coming = pathOf(today?.filter((one) => one.second > here.second));
  return html`
    <figure class="day">
      <svg class="day-bar ${today?.length > MANY ? "day-dense" : ""}" viewBox="0 0 ${DAY} 40" preserveAspectRatio="none" role="img" aria-label=${text}>
        ${open.map(([start, end]) => html`<rect key=${start} class="day-open" x=${start} y="0" width=${end - start} height="40" />`)}
        <path class="day-past" d=${past} />
        <path class="day-coming" d=${coming} />
        <path class="day-now" d="M${here.second} 0V40" />
      </svg>
      <div class="day-hours" aria-hidden="true">${[0, 6, 12, 18, 24].map((hour) => html`<span key=${hour}>${String(hour).padStart(2, "0")}:00</span>`)}</div>
      <figcaption>
        <span class="chart-legend" aria-hidden="true">
          <span><i class="day-key day-key-open"></i>runs may start</span>
          <span><i class="day-key day-key-run"></i>a run</span>
          <span><i class="day-key day-key-now"></i>now</span>
        </span>
        <span>${text}</span>
      </figcaption>
      ${today?.length > 0 && html`<details>
        <summary>As a list</summary>
        <ul class="day-list">${today.map((one) => html`<li key=${`${one.clock} ${one.note}`}>${one.clock}${one.note ? ` (${one.note})` : ""}</li>`)}</ul>
      </details>`}
    </figure>
  `;
}

const pathOf = (runs = []) => runs.map((one) => `M${one.second} 8V32`).join("") || "M0 0";

function sayDay(schedule, here, today, inside) {
  const { window, outside, timezone } = schedule;
  const clock = new Date(here.second * 1000).toISOString().slice(11, 16);
  const over = window && window[0] > window[1] ? ", over midnight" : "";
  const first = window
    ? `Runs may start from ${window[0]} to ${window[1]}${over} (${timezone}); a tick outside ${OUTSIDE[outside]}.`
    : `Runs may start at any time of the day (${timezone}).`;
  const second = `Now it is ${clock}${window ? (inside ? ", in the window" : ", outside the window") : ""}.`;
  return `${first} ${second} ${today === undefined ? "" : sayRuns(today)}`.trim();
}

function sayRuns(today) {
  if (today === null) return `More than ${MOST} runs fall on today, too many to draw.`;
  if (!today.length) return "No run falls on today.";
  return `${today.length} ${today.length === 1 ? "run falls" : "runs fall"} on today${today.length <= 6 ? `: ${today.map((one) => one.clock).join(", ")}` : ""}.`;
}
