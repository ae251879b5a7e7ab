// Each attempt of a run: who worked on it, how long, and what it came to, with the whole traceback.
import { between, spanText, Time } from "../times.js";
import { html, useState } from "../ui.js";
import { Section } from "./page.js";
import { headline } from "./run-timeline.js";
import { Status } from "./status.js";
import { Block, Json } from "./value.js";

const SHOWN = 10; // the latest, until all are asked for
const LONG = 8; // lines of an error, above which it is folded

/** @param {{ run: Api.Run, attempts: Api.Attempt[] }} props */
export function RunAttempts({ run, attempts }) {
  const [all, showAll] = useState(false);
  const newest = [...attempts].reverse();
  const shown = all ? newest : newest.slice(0, SHOWN);
  const latestFault = newest.find((one) => one.error)?.number;
  const known = attempts.some((one) => one.error === run.error);
  if (!run.error && !attempts.some(hasMore)) return null; // then the timeline has said it all
  return html`
    <${Section} title="Attempts">
      ${run.error && !known && html`<${Fault} text=${run.error} name="Error of the run" open />`}
      <ol class="attempts">
        ${shown.map((one, index) => html`<li key=${one.number}><${Attempt} attempt=${one} latest=${index === 0} open=${one.number === latestFault} same=${sameAs(one, newest.slice(0, index))} /></li>`)}
      </ol>
      ${newest.length > shown.length && html`<button type="button" onClick=${() => showAll(true)}>Show all ${newest.length}</button>`}
    <//>
  `;
}

/** @param {Api.Attempt} attempt */
const hasMore = ({ status, error, result }) => status !== "succeeded" && (error || result !== null);

/**
 * The number of the latest attempt that failed with the same error, letter by letter.
 * @param {Api.Attempt} attempt
 * @param {Api.Attempt[]} later
 */
const sameAs = ({ error }, later) => later.find((one) => error && one.error === error && one.status !== "succeeded")?.number;

/** @param {{ attempt: Api.Attempt, latest: boolean, open: boolean, same: number | undefined }} props */
function Attempt({ attempt, latest, open, same }) {
  const { number, status, started_at: start, finished_at: end, worker, error, error_type: kind, result } = attempt;
  const shown = result !== null && !(latest && status === "succeeded"); // what it returned stands with the run
  return html`
    <h3 class="attempt-head">Attempt ${number} <${Status} of=${status} /></h3>
    <p class="faint">
      <${Time} at=${start} />${end && html` · took ${spanText(between(start, end))}`}${worker && html` · worker <code>${worker}</code>`}
      ${kind && status !== "succeeded" && html` · <code class="error-type">${kind}</code>`}
    </p>
    ${same && status !== "succeeded" && html`<p>The same error as attempt ${same}.</p>`}
    ${error && !same && status !== "succeeded" && html`<${Fault} text=${error} name=${`Error of attempt ${number}`} open=${open} />`}
    ${shown && html`<${Json} value=${result} name=${`Result of attempt ${number}`} />`}
  `;
}

/**
 * An error; a long one is folded, with its first line to be seen.
 * @param {{ text: string, name: string, open: boolean }} props
 */
function Fault({ text, name, open }) {
  const lines = text.trim().split("\n").length;
  const block = html`<${Block} text=${text} name=${name} classes="error">${marked(text)}<//>`;
  if (lines <= LONG) return block;
  return html`
    <details class="fault" open=${open}>
      <summary><span class="fault-line">${headline(text)}</span> <span class="faint">${lines} lines</span></summary>
      ${block}
    </details>
  `;
}

/**
 * The text, with the frames of the application's own code standing out: those marked with `>`, and their source.
 * @param {string} text
 */
function marked(text) {
  const lines = text.split("\n");
  /** @param {string | undefined} line */
  const isOwn = (line) => /^[ |]*> File "/.test(line ?? "");
  return lines.map((line, index) => {
    const ended = index < lines.length - 1 ? `${line}\n` : line;
    return isOwn(line) || isOwn(lines[index - 1]) ? html`<b class="own-frame">${ended}</b>` : ended;
  });
}
