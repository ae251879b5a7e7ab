// A chart over time with the same numbers as a table behind it, and a sentence for who sees neither.
import uPlot from "../vendor/uplot.js";
import { theme, zone } from "../preferences.js";
import { timeText } from "../times.js";
import { html, useEffect, useRef } from "../ui.js";

/** @typedef {{ name: string, values: number[], colour: string, fill?: boolean, dash?: number[] }} Series */

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
const paler = (text) => text.replace(/^rgb\((.*)\)$/, "rgba($1, 0.14)");
// Labels of the axis by the space between two; the day stands below the first of each day.
const TICKS = [[86_400, "{D} {MMM}", null], [3600, "{HH}:{mm}", "\n{D} {MMM}"], [60, "{HH}:{mm}", "\n{D} {MMM}"], [1, "{HH}:{mm}:{ss}", null]].map(
  ([step, text, day]) => [step, text, null, null, day, null, null, null, 1],
);
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((step) => [step, step * 1000, step * 1_000_000]).sort((one, other) => one - other);

/**
 * The numbers of a step, for who points at it.
 * @param {{ at: string[], series: Series[], choice: string }} given
 * @param {number | null | undefined} index
 */
function numbersAt({ at, series, choice }, index) {
  if (index === null || index === undefined || !at[index]) return "";
  return `${timeText(at[index], choice)}: ${series.map((one) => `${one.values[index].toLocaleString("en")} ${one.name}`).join(", ")}`;
}

/**
 * `at`: times as the API tells them; `series`: [{name, values, colour: "--good", fill, dash}]. `summary` is the sentence. So many of the last steps are
 * `open`, not over yet: they are in the table and the sentence, and not drawn, as each would seem a fall.
 * The chart is drawn anew only if what it is made of changes; new numbers are put into it.
 * @param {{ title: string, at: string[], series: Series[], summary: string, open?: number, height?: number }} props
 */
export function Chart({ title, at, series, summary, open = 0, height = 200 }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  const pointed = useRef(/** @type {HTMLElement | null} */ (null));
  const choice = zone.use();
  const latest = useRef({ at, series, choice });
  latest.current = { at, series, choice };
  const themeName = theme.use();
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const drawn = Math.max(1, at.length - open);
  const data = [at.map((one) => new Date(one).getTime() / 1000), ...series.map((one) => one.values)].map((all) => all.slice(0, drawn));
  const shape = JSON.stringify([series.map((one) => one.name), choice, themeName, dark]);

  useEffect(() => {
    const parent = frame.current;
    if (!parent) return undefined;
    const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const made = new uPlot(
      {
        width: parent.clientWidth || 600,
        height,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        hooks: { setCursor: [({ cursor }) => pointed.current && (pointed.current.textContent = numbersAt(latest.current, cursor.idx))] },
        tzDate: (seconds) => (choice === "utc" ? uPlot.tzDate(new Date(seconds * 1000), "UTC") : new Date(seconds * 1000)),
        scales: { y: { range: (_plot, _low, high) => [0, Math.max(high ?? 0, 1) * 1.1] } },
        axes: [{ ...axis, values: TICKS }, { ...axis, size: 52, incrs: WHOLE }],
        series: [{}, ...series.map((one) => ({ label: one.name, stroke: colour(one.colour), width: 2, dash: one.dash, fill: one.fill ? paler(colour(one.colour)) : undefined, points: { show: false } }))],
      },
      data,
      parent,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: frame.current?.clientWidth || 600, height }));
    resized.observe(parent);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data));

  return html`
    <figure class="chart">
      <div ref=${frame} class="chart-frame" role="img" data-drawn=${at[drawn - 1]} aria-label=${`${title}. ${summary}`}></div>
      <figcaption>
        <span class="chart-legend">${series.map((one) => html`<span key=${one.name}><i class=${one.dash ? "chart-key chart-key-dash" : "chart-key"} style=${{ borderColor: `var(${one.colour})` }}></i>${one.name}</span>`)}</span>
        <strong ref=${pointed} class="chart-pointed" aria-hidden="true"></strong>
        <span class="faint">${summary}</span>
      </figcaption>
      <details>
        <summary>As a table</summary>
        <div class="chart-table" tabindex="0" role="region" aria-label=${`${title}, as a table`}>
          <table>
            <caption class="visually-hidden">${title}</caption>
            <thead><tr><th scope="col">time</th>${series.map((one) => html`<th key=${one.name} scope="col" class="number">${one.name}</th>`)}</tr></thead>
            <tbody>${at.map((one, index) => html`<tr key=${one}><th scope="row">${timeText(one, choice)}${index >= drawn ? " (so far)" : ""}</th>${series.map((line) => html`<td key=${line.name} class="number">${line.values[index]}</td>`)}</tr>`)}</tbody>
          </table>
        </div>
      </details>
    </figure>
  `;
}
