// One line of a log. A line never changes, so it is made once and then left alone, however many others come.
import { timeText } from "../times.js";
import { html } from "../ui.js";

const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];
/** @param {string} level */
const rankOf = (level) => Math.max(0, LEVELS.indexOf(level.toUpperCase())); // a level of somebody's own is no warning

/**
 * Whether a line is of a lower level than the one that is asked for.
 * @param {Api.LogLine} line
 * @param {string} least
 */
export const isBelow = (line, least) => least !== "" && rankOf(line.level) < rankOf(least);

let made = new WeakMap();
let clock = new Map(); // the text of each second: many lines share one, and to make it is the dearest part of a line
let madeFor = "";

/**
 * The lines as items of a list: the same items each time, which Preact passes over. `zone` is that of their times.
 * @param {Api.LogLine[]} lines
 * @param {string} zone
 */
export function drawnLines(lines, zone) {
  const meant = `${zone} ${new Date().toDateString()}`; // the day is shown only if it is not today
  if (meant !== madeFor) {
    made = new WeakMap();
    clock = new Map();
    madeFor = meant;
  }
  return lines.map((line) => {
    if (!made.has(line)) made.set(line, draw(line, zone));
    return made.get(line);
  });
}

/**
 * @param {Api.LogLine} logline
 * @param {string} zone
 */
function draw({ attempt, line, at, level, message }, zone) {
  const tone = LEVELS.includes(level.toUpperCase()) ? level.toLowerCase() : "info";
  return html`<li key=${`${attempt}:${line}`} class="log-line log-${tone}">
    <time class="log-time" dateTime=${at} title=${at}>${secondText(at, zone)}</time>
    <span class="log-attempt"><span class="visually-hidden">attempt </span>#${attempt}</span>
    <span class="log-level">${level}</span>
    <span class="log-message">${message}</span>
  </li>`;
}

/**
 * @param {string} at
 * @param {string} zone
 */
function secondText(at, zone) {
  const second = at.slice(0, 19);
  if (!clock.has(second)) clock.set(second, timeText(at, zone));
  return clock.get(second);
}
