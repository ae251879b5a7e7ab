// How many attempts ended over time, and how.
import { zone } from "../preferences.js";
import { spanText, timeText } from "../times.js";
import { html } from "../ui.js";
import { Chart } from "./chart.js";

/** @typedef {"succeeded" | "retried" | "failed"} Line */

/** @type {Line[]} */
const LINES = ["succeeded", "failed", "retried"];

const LATE = 10; // seconds after which all workers have told what ended in a step

const LEAST = 15; // steps that are drawn, however new everything is

/**
 * The first step in which anything ended; those before it are left out: a line along the bottom tells nothing.
 * @param {Api.Tallies["items"]} items
 */
const firstOf = (items) => Math.max(0, items.findIndex((step) => LINES.some((name) => step[name] > 0)));

/**
 * "41 succeeded, 1 failed, 2 retried".
 * @param {Api.Tallies["items"]} items
 */
const totals = (items) => LINES.map((name) => `${items.reduce((sum, step) => sum + step[name], 0).toLocaleString("en")} ${name}`).join(", ");

/**
 * `tallies` as GET /tallies tells them.
 * @param {{ tallies: Api.Tallies, height?: number }} props
 */
export function Throughput({ tallies, height }) {
  const choice = zone.use();
  const first = firstOf(tallies.items);
  const steps = tallies.items.slice(Math.max(0, Math.min(first - 1, tallies.items.length - LEAST)));
  /** @param {Line} name */
  const values = (name) => steps.map((step) => step[name]);
  const panels = [
    { name: "succeeded", none: "", stack: [{ name: "succeeded", colour: "--good", values: values("succeeded") }] },
    {
      name: "failed and retried",
      none: "Nothing failed, and nothing was retried.",
      stack: [
        { name: "failed", colour: "--bad", values: values("failed") },
        { name: "retried", colour: "--warn", pale: true, values: values("retried") },
      ],
    },
  ];
  const span = spanText(Math.floor((Date.parse(tallies.until) - Date.parse(tallies.since)) / 1000 / tallies.step) * tallies.step);
  const open = steps.filter((step) => (Date.parse(tallies.until) - Date.parse(step.at)) / 1000 < tallies.step + LATE);
  const summary = [
    `In ${span}: ${totals(tallies.items)}. Each bar is ${spanText(tallies.step)}.`,
    steps.length < tallies.items.length && `Nothing ended before ${timeText(tallies.items[first].at, choice)}.`,
    open.length > 0 && `Hatched bars are not complete yet: ${totals(open)} since ${timeText(open[0].at, choice)}.`,
  ];
  return html`<${Chart} title="Finished attempts" at=${steps.map((step) => step.at)} step=${tallies.step} panels=${panels} summary=${summary.filter(Boolean).join(" ")} open=${open.length} height=${height} />`;
}
