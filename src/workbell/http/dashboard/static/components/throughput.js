// How many attempts ended over time, and how.
import { zone } from "../preferences.js";
import { spanText, timeText } from "../times.js";
import { html } from "../ui.js";
import { Chart } from "./chart.js";

const LINES = [
  ["succeeded", "--good", true],
  ["retried", "--warn", false],
  ["failed", "--bad", false],
];

const LATE = 10; // seconds after which all workers have told what ended in a step

/** `tallies` as GET /tallies tells them. */
export function Throughput({ tallies, height }) {
  const choice = zone.use();
  const series = LINES.map(([name, colour, fill]) => ({ name, colour, fill, values: tallies.items.map((step) => step[name]) }));
  const total = (name) => tallies.items.reduce((sum, step) => sum + step[name], 0);
  const span = spanText((new Date(tallies.until) - new Date(tallies.since)) / 1000);
  const summary = `In ${span}: ${LINES.map(([name]) => `${total(name).toLocaleString("en")} ${name}`).join(", ")}. One step is ${spanText(tallies.step)}.`;
  const open = tallies.items.filter((step) => (new Date(tallies.until) - new Date(step.at)) / 1000 < tallies.step + LATE);
  const soFar = LINES.map(([name]) => `${open.reduce((sum, step) => sum + step[name], 0).toLocaleString("en")} ${name}`).join(", ");
  const more = ` Not drawn yet, since ${timeText(open[0]?.at, choice)}: ${soFar}.`;
  return html`<${Chart} title="Finished attempts" at=${tallies.items.map((step) => step.at)} series=${series} summary=${summary + (open.length ? more : "")} open=${open.length} height=${height} />`;
}
