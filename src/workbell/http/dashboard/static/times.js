// Times and spans for people: each time with its zone, by the one switch of the page.
import { zone } from "./preferences.js";
import { html, shared } from "./ui.js";

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/**
 * @param {string | undefined} timeZone
 * @param {Intl.DateTimeFormatOptions} options
 */
function format(timeZone, options) {
  const name = `${timeZone} ${JSON.stringify(options)}`;
  const known = formats.get(name) ?? new Intl.DateTimeFormat("en-GB", { timeZone, hourCycle: "h23", ...options });
  formats.set(name, known);
  return known;
}

/**
 * The name of the zone that a choice means, or the zone that it names itself; undefined is the browser's own.
 * @param {string} choice
 */
const zoneOf = (choice) => (choice === "utc" ? "UTC" : choice === "local" ? undefined : choice);

/** @type {Intl.DateTimeFormatOptions} */
const BARE_CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
/** @type {Intl.DateTimeFormatOptions} */
const CLOCK = { ...BARE_CLOCK, timeZoneName: "short" };
/** @type {Intl.DateTimeFormatOptions} */
const DATE = { day: "numeric", month: "short" };

/**
 * A time as text: the day only if it is not today, the year only if it is not this one; with the zone.
 * @param {string | null | undefined} at
 * @param {string} choice
 */
export const timeText = (at, choice, now = new Date()) => dayText(at, choice, CLOCK, now);

/**
 * The same without the zone, for a column whose heading names it.
 * @param {string} at
 * @param {string} choice
 */
const bareText = (at, choice) => dayText(at, choice, BARE_CLOCK, new Date());

/**
 * @param {string | null | undefined} at
 * @param {string} choice
 * @param {Intl.DateTimeFormatOptions} clock
 * @param {Date} now
 */
function dayText(at, choice, clock, now) {
  const when = new Date(at ?? NaN);
  if (Number.isNaN(when.getTime())) return "–";
  const timeZone = zoneOf(choice);
  const day = format(timeZone, { dateStyle: "short" });
  if (day.format(when) === day.format(now)) return format(timeZone, clock).format(when);
  const year = format(timeZone, { year: "numeric" });
  /** @type {Intl.DateTimeFormatOptions} */
  const date = year.format(when) === year.format(now) ? DATE : { ...DATE, year: "numeric" };
  return format(timeZone, { ...date, ...clock }).format(when);
}

/** @type {Intl.DateTimeFormatOptions} */
const WALL = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };

/** @typedef {{ date: string, second: number }} WallClock */

/**
 * What the clock on the wall of a zone shows: `{date: "2026-11-16", second}` of the day; null for a zone unknown here.
 * @param {string | number} at
 * @param {string} timeZone
 * @returns {WallClock | null}
 */
export function wallClock(at, timeZone) {
  try {
    const found = format(timeZone, WALL).formatToParts(new Date(at));
    const { year, month, day, hour, minute, second } = Object.fromEntries(found.map((one) => [one.type, one.value]));
    return { date: `${year}-${month}-${day}`, second: Number(hour) * 3600 + Number(minute) * 60 + Number(second) };
  } catch {
    return null;
  }
}

/**
 * The short name of the zone that is shown now.
 * @param {string} choice
 */
export function zoneName(choice, at = new Date()) {
  const parts = format(zoneOf(choice), { timeZoneName: "short" }).formatToParts(at);
  return parts.find((one) => one.type === "timeZoneName")?.value ?? "";
}

/** @type {(large: number, name: string, small: number, smallName: string) => string} */
const pair = (large, name, small, smallName) => (small ? `${large} ${name} ${small} ${smallName}` : `${large} ${name}`);

/**
 * A span in seconds: 0 s, <0.1 ms, 0.4 ms, 12 ms, 3.2 s, 4 min 5 s, 2 h 10 min, 3 d 4 h.
 * @param {number | null | undefined} seconds
 */
export function spanText(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  const size = Math.abs(seconds);
  const sign = seconds < 0 ? "−" : "";
  if (size === 0) return "0 s";
  if (size < 0.0001) return `${sign}<0.1 ms`;
  if (size < 0.001) return `${sign}${(size * 1000).toFixed(1)} ms`;
  if (size < 1) return `${sign}${Math.round(size * 1000)} ms`;
  if (size < 10) return `${sign}${size.toFixed(1)} s`;
  if (size < 60) return `${sign}${Math.round(size)} s`;
  const whole = Math.round(size);
  if (whole < 3600) return sign + pair(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86_400) return sign + pair(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
  return sign + pair(Math.floor(whole / 86_400), "d", Math.floor((whole % 86_400) / 3600), "h");
}

/**
 * The part of a time below a millisecond, in seconds, which a Date forgets: many runs are shorter than that.
 * @param {string} at
 */
const below = (at) => Number(/\.\d{3}(\d{1,3})/.exec(at)?.[1]?.padEnd(3, "0") ?? 0) / 1e6;

/**
 * Seconds between two times of the API, or null.
 * @param {string | null} start
 * @param {string | null} end
 */
export const between = (start, end) =>
  start && end ? (Date.parse(end) - Date.parse(start)) / 1000 + below(end) - below(start) : null;

/**
 * "3 min ago", "in 2 h".
 * @param {string} at
 */
function agoText(at, now = Date.now()) {
  const seconds = (new Date(at).getTime() - now) / 1000;
  if (Math.abs(seconds) < 1) return "now";
  const size = Math.abs(seconds);
  const rough = size < 60 ? `${Math.round(size)} s` : spanText(size).replace(/ \d+ s$/, "");
  return seconds < 0 ? `${rough} ago` : `in ${rough}`;
}

/** @param {{ at: string }} props */
function Ago({ at }) {
  return agoText(at, useNow());
}

/**
 * A time with its zone. `ago` shows how long ago instead, with the time as its title.
 * @param {{ at: string | null | undefined, ago?: boolean }} props
 */
export function Time({ at, ago = false }) {
  const choice = zone.use();
  if (!at) return html`<span class="faint">–</span>`;
  return html`<time dateTime=${at} title=${titleOf(at)}>${ago ? html`<${Ago} at=${at} />` : timeText(at, choice)}</time>`;
}

/** @param {string} at */
const titleOf = (at) => `${timeText(at, "utc")} · ${timeText(at, "local")} · ${agoText(at)}`;

/** The short name of the zone that the page shows now, for the heading of a column of `Stamp`s. */
export const useZoneName = () => zoneName(zone.use());

/**
 * A time within a list: how long ago, and the clock of the zone that the column's heading names.
 * @param {{ at: string }} props
 */
export function Stamp({ at }) {
  const choice = zone.use();
  return html`<time class="stamp" dateTime=${at} title=${titleOf(at)}><${Ago} at=${at} /> <span class="faint">${bareText(at, choice)}</span></time>`;
}

const ticking = shared(Date.now());
setInterval(() => document.hidden || ticking.set(Date.now()), 1000);

/** The time of now, anew every second, by one clock for all components. */
export const useNow = () => ticking.use();
