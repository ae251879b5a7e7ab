// How many attempts ended over time, and how.
import { spanText } from "../times.js";
import { html } from "../ui.js";
import { Chart } from "./chart.js";

const LINES = [
  ["succeeded", "--good", true],
  ["retried", "--warn", false],
  ["failed", "--bad", false],
];

/** `tallies` as GET /tallies tells them. */
export function Throughput({ tallies, height }) {
  const series = LINES.map(([name, colour, fill]) => ({ name, colour, fill, values: tallies.items.map((step) => step[name]) }));
  const total = (name) => tallies.items.reduce((sum, step) => sum + step[name], 0);
  const span = spanText((new Date(tallies.until) - new Date(tallies.since)) / 1000);
  const summary = `In ${span}: ${LINES.map(([name]) => `${total(name).toLocaleString("en")} ${name}`).join(", ")}. One step is ${spanText(tallies.step)}.`;
  return html`<${Chart} title="Attempts that ended" at=${tallies.items.map((step) => step.at)} series=${series} summary=${summary} height=${height} />`;
}
