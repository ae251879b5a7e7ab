// Charts of bars over time, with the same numbers as a table behind them; and the chart of the runs that ended.
import { theme, zone } from "../preferences.js";
import { spanText, timeText } from "../times.js";
import { html, useEffect, useRef } from "../ui.js";
import uPlot from "../vendor/uplot.js";

// A chart of bars over time with the same numbers as a table behind it, and a sentence for who sees neither.

/**
 * @typedef {{ name: string, values: number[], colour: string, pale?: boolean }} Series
 * @typedef {{ name: string, stack: Series[], none: string }} Panel
 */

/**
 * A token's colour in the theme that is on: a canvas knows no variables, and no light-dark().
 * @param {string} name
 */
function colour(name) {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** @param {string} text */
const paler = (text) => text.replace(/^rgb\((.*)\)$/, "rgba($1, 0.25)");

const HATCH = 6; // pixels from line to line

/**
 * Lines of a colour across the page's own.
 * @param {string} line
 */
function hatched(line) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = HATCH;
  const context = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  context.fillStyle = colour("--surface");
  context.fillRect(0, 0, HATCH, HATCH);
  context.strokeStyle = line;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const shift of [-HATCH, 0, HATCH]) {
    context.moveTo(shift - 1, HATCH + 1);
    context.lineTo(shift + HATCH + 1, -1);
  }
  context.stroke();
  return context.createPattern(tile, "repeat");
}

// Labels of the axis by the space between two; the day stands below the first of each day.
const TICKS = [[86_400, "{D} {MMM}", null], [3600, "{HH}:{mm}", "\n{D} {MMM}"], [60, "{HH}:{mm}", "\n{D} {MMM}"], [1, "{HH}:{mm}:{ss}", null]].map(
  ([step, text, day]) => [step, text, null, null, day, null, null, null, 1],
);
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((step) => [step, step * 1000, step * 1_000_000]).sort((one, other) => one - other);
const BARS = uPlot.paths.bars({ size: [0.8, 60] });
const BELOW = 34; // pixels for the times, below the last panel

/**
 * The numbers of a step, for who points at it.
 * @param {{ at: string[], series: Series[], choice: string }} given
 * @param {number | null | undefined} index
 */
function numbersAt({ at, series, choice }, index) {
  if (index === null || index === undefined || !at[index]) return "";
  return `${timeText(at[index], choice)}: ${series.map((one) => `${one.values[index].toLocaleString("en")} ${one.name}`).join(", ")}`;
}

/** @param {Panel} panel */
const isEmpty = ({ stack }) => stack.every((one) => one.values.every((value) => !value));

/**
 * What uPlot draws of a panel: each line up to the top of those below it in the stack, the topmost first; of the steps that
 * are `open` in lines of their own.
 * @param {Panel} panel
 * @param {number} open
 */
function linesOf({ stack }, open) {
  return stack
    .map((one, place) => one.values.map((_, index) => stack.slice(0, place + 1).reduce((sum, { values }) => sum + values[index], 0)))
    .reverse()
    .flatMap((tops) => [false, true].map((isOpen) => tops.map((top, index) => (index >= tops.length - open === isOpen && top ? top : null))));
}

/**
 * `at`: the beginnings of the steps as the API tells them, of `step` seconds each. `panels` are drawn below each other, each with
 * a scale of its own: [{name, stack: [{name, values, colour: "--bad"}], none}]; of a panel without numbers, `none` is said instead.
 * `summary` is the sentence. So many of the last steps are `open`, not complete yet: hatched, as each would seem a fall.
 * The chart is drawn anew only if what it is made of changes; new numbers are put into it.
 * @param {{ title: string, at: string[], step: number, panels: Panel[], summary: string, open?: number, height?: number }} props
 */
function Chart({ title, at, step, panels, summary, open = 0, height = 210 }) {
  const frames = useRef(/** @type {(HTMLElement | null)[]} */ ([]));
  const plots = useRef(/** @type {uPlot[]} */ ([]));
  const pointed = useRef(/** @type {HTMLElement | null} */ (null));
  const choice = zone.use();
  const series = panels.flatMap((panel) => panel.stack);
  const drawn = panels.filter((panel, index) => !index || !isEmpty(panel));
  const latest = useRef({ at, series, choice, step });
  latest.current = { at, series, choice, step };
  const themeName = theme.use();
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const middles = at.map((one) => Date.parse(one) / 1000 + step / 2);
  const data = drawn.map((panel) => [middles, ...linesOf(panel, open)]);
  const shape = JSON.stringify([drawn.map((panel) => panel.stack.map((one) => one.name)), choice, themeName, dark]);

  useEffect(() => {
    const all = frames.current.slice(0, drawn.length).map((parent, index) => parent && plotOf(parent, index));
    plots.current = all.filter((one) => one !== null);
    const resized = new ResizeObserver(() => plots.current.forEach((one, index) => one.setSize({ width: frames.current[index]?.clientWidth || 600, height: heightOf(index) })));
    if (frames.current[0]) resized.observe(frames.current[0]);
    return () => {
      resized.disconnect();
      for (const one of plots.current) one.destroy();
    };
  }, [shape]);
  useEffect(() => plots.current.forEach((one, index) => one.setData(data[index])));

  /** @param {number} index */
  const heightOf = (index) => Math.round(drawn.length === 1 ? height : index ? height * 0.4 : height * 0.6) + (index === drawn.length - 1 ? BELOW : 0);

  /**
   * @param {HTMLElement} parent
   * @param {number} index
   */
  function plotOf(parent, index) {
    const last = index === drawn.length - 1;
    const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const stack = [...drawn[index].stack].reverse();
    return new uPlot(
      {
        width: parent.clientWidth || 600,
        height: heightOf(index),
        legend: { show: false },
        padding: [8, 20, last ? 0 : 4, 0],
        cursor: { drag: { x: false, y: false }, y: false, points: { show: false }, sync: { key: title } },
        hooks: { setCursor: [({ cursor }) => pointed.current && (pointed.current.textContent = numbersAt(latest.current, cursor.idx))] },
        tzDate: (seconds) => (choice === "utc" ? uPlot.tzDate(new Date(seconds * 1000), "UTC") : new Date(seconds * 1000)),
        scales: {
          x: { range: (_plot, low, high) => [(low ?? 0) - latest.current.step / 2, (high ?? 0) + latest.current.step / 2] },
          y: { range: (_plot, _low, high) => [0, Math.max(high ?? 0, 1) * 1.1] },
        },
        axes: [last ? { ...axis, values: TICKS } : { ...axis, values: () => [], size: 0 }, { ...axis, size: 52, space: 24, incrs: WHOLE }],
        series: [{}, ...stack.flatMap((one) => seriesOf(one))],
      },
      data[index],
      parent,
    );
  }

  return html`
    <figure class="chart">
      ${panels.map((panel) => {
        const index = drawn.indexOf(panel);
        return html`<div key=${panel.name} class="chart-panel">
          <p class="chart-legend">
            ${index < 0 ? html`<span class="faint">${panel.none}</span>` : panel.stack.map((one) => html`<${Key} key=${one.name} of=${one} />`)}
            ${index > 0 && html`<span class="faint">on a scale of their own</span>`}
          </p>
          ${index >= 0 && html`<div ref=${(/** @type {HTMLElement | null} */ one) => (frames.current[index] = one)} class="chart-frame"
            role="img" data-steps=${at.length} aria-label=${`${title}, ${panel.name}. ${summary}`}></div>`}
        </div>`;
      })}
      <figcaption>
        <strong ref=${pointed} class="chart-pointed" aria-hidden="true"></strong>
        <span class="faint">${summary}</span>
      </figcaption>
      <details>
        <summary>As a table</summary>
        <div class="chart-table" tabindex="0" role="region" aria-label=${`${title}, as a table`}>
          <table>
            <caption class="visually-hidden">${title}</caption>
            <thead><tr><th scope="col">time</th>${series.map((one) => html`<th key=${one.name} scope="col" class="number">${one.name}</th>`)}</tr></thead>
            <tbody>
              ${at.map(
                (one, index) => html`<tr key=${one}>
                  <th scope="row">${timeText(one, choice)}${index >= at.length - open ? " (so far)" : ""}</th>
                  ${series.map((line) => html`<td key=${line.name} class="number">${line.values[index]}</td>`)}
                </tr>`,
              )}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  `;
}

/**
 * A line of the chart for uPlot: the steps that are over, and those that are not.
 * @param {Series} given
 */
function seriesOf({ name, colour: token, pale }) {
  const [line, pattern] = [colour(token), hatched(colour(token))];
  const each = { label: name, stroke: line, width: 1, paths: BARS, points: { show: false } };
  return [{ ...each, fill: pale ? paler(line) : line }, { ...each, fill: () => pattern }];
}

/** @param {{ of: Series }} props */
function Key({ of: { name, colour: token, pale } }) {
  return html`<span><i class="chart-key ${pale ? "chart-key-pale" : ""}" style=${{ color: `var(${token})` }}></i>${name}</span>`;
}

// How many attempts ended over time, and how.

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
  return html`<${Chart} title="Finished attempts" at=${steps.map((step) => step.at)} step=${tallies.step} panels=${panels}
    summary=${summary.filter(Boolean).join(" ")} open=${open.length} height=${height} />`;
}
