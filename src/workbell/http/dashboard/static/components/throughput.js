// How many attempts ended over time, and how.
import { zone } from "../preferences.js";
import { spanText, timeText } from "../times.js";
import { html } from "../ui.js";
import { Chart } from "./chart.js";

/** @typedef {"succeeded" | "retried" | "failed"} Line */

/** @type {[Line, string, boolean, number[]?][]} */
const LINES = [
  ["succeeded", "--good", true],
  ["retried", "--warn", false, [5, 4]],
  ["failed", "--bad", false],
];

const LATE = 10; // seconds after which all workers have told what ended in a step

const LEAST = 15; // steps that are drawn, however new everything is

/**
 * The first step in which anything ended; those before it are left out: a line along the bottom tells nothing.
 * @param {Api.Tallies["items"]} items
 */
const firstOf = (items) => Math.max(0, items.findIndex((step) => LINES.some(([name]) => step[name] > 0)));

/**
 * `tallies` as GET /tallies tells them.
 * @param {{ tallies: Api.Tallies, height?: number }} props
 */
export function Throughput({ tallies, height }) {
  const choice = zone.use();
  const first = firstOf(tallies.items);
  const steps = tallies.items.slice(Math.max(0, Math.min(first - 1, tallies.items.length - LEAST)));
  const series = LINES.map(([name, colour, fill, dash]) => ({ name, colour, fill, dash, values: steps.map((step) => step[name]) }));
  /** @param {Line} name */
  const total = (name) => tallies.items.reduce((sum, step) => sum + step[name], 0);
  const span = spanText(Math.floor((Date.parse(tallies.until) - Date.parse(tallies.since)) / 1000 / tallies.step) * tallies.step);
  const summary = `In ${span}: ${LINES.map(([name]) => `${total(name).toLocaleString("en")} ${name}`).join(", ")}. Each point is ${spanText(tallies.step)}.`;
  const late = tallies.items.filter((step) => (Date.parse(tallies.until) - Date.parse(step.at)) / 1000 < tallies.step + LATE);
  // Where there is nothing else, they are drawn: from nothing, what is not over yet is no fall.
  const open = late.includes(tallies.items[first]) ? [] : late;
  const soFar = LINES.map(([name]) => `${open.reduce((sum, step) => sum + step[name], 0).toLocaleString("en")} ${name}`).join(", ");
  const before = steps.length < tallies.items.length ? ` Nothing ended before ${timeText(tallies.items[first].at, choice)}.` : "";
  const more = ` Not drawn yet, since ${timeText(open[0]?.at, choice)}: ${soFar}.`;
  return html`<${Chart} title="Finished attempts" at=${steps.map((step) => step.at)} series=${series} summary=${summary + before + (open.length ? more : "")} open=${open.length} height=${height} />`;
}
