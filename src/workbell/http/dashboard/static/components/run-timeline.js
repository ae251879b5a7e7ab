// The life of a run: a bar drawn to scale, its steps from the moment it was made to its end, and each attempt.
import { between, spanText, Time, useNow } from "../times.js";
import { html, useState } from "../ui.js";
import { Section } from "./page.js";
import { Status, toneOf } from "./status.js";
import { Block, Json } from "./value.js";

const STEPS_SHOWN = 20; // attempts; of more, the latest

/** @param {{ run: Api.Run, attempts: Api.Attempt[] }} props */
export function RunTimeline({ run, attempts }) {
  const shown = attempts.slice(-STEPS_SHOWN);
  return html`
    <${Section} title="Timeline">
      <${LifeBar} run=${run} attempts=${attempts} />
      <ol class="timeline">${stepsOf(run, shown, Math.max(0, (shown[0]?.number ?? 1) - 1))}</ol>
    <//>
  `;
}

/**
 * The steps as items of a list, oldest first.
 * @param {Api.Run} run
 * @param {Api.Attempt[]} attempts
 * @param {number} leftOut
 */
function stepsOf(run, attempts, leftOut) {
  /** @type {Child[]} */
  const steps = [html`<${Step} key="made" at=${run.created_at} kind="made">Created<//>`];
  if (leftOut > 0) steps.push(html`<${Pause} key="more">${leftOut.toLocaleString("en")} earlier attempts<//>`);
  let before = leftOut > 0 ? null : run.created_at;
  let said = null; // the error that stands above
  for (const attempt of attempts) {
    const line = attempt.error && attempt.status !== "succeeded" ? headline(attempt.error) : null;
    steps.push(...waitSteps(run, attempt.number, before, attempt.started_at));
    steps.push(html`<${AttemptStep} key=${attempt.number} attempt=${attempt} error=${line === said ? null : line} again=${line !== null && line === said} />`);
    before = attempt.finished_at;
    said = line ?? said;
  }
  if (run.status === "scheduled" && !attempts.length) steps.push(...waitSteps(run, 1, before, null));
  steps.push(html`<${Last} key="last" run=${run} attempts=${attempts} />`);
  return steps;
}

/**
 * How long it was held back on purpose (a delay, a pause before a retry), and how long it then waited for a worker.
 * @param {Api.Run} run
 * @param {number} number
 * @param {string | null} before
 * @param {string | null} start
 */
function waitSteps(run, number, before, start) {
  /** @type {Child[]} */
  const steps = [];
  const due = dueOf(run, number, before, start);
  /**
   * @param {string} key
   * @param {string} text
   */
  const pause = (key, text) => html`<${Pause} key=${`${key} ${number}`}>${text}<//>`;
  if (due) {
    steps.push(pause("delay", `delayed ${spanText(between(before, due))}`));
    steps.push(html`<${Step} key=${`due ${number}`} at=${due} kind="waiting">${start ? "Due" : html`Due <${Time} at=${due} ago />`}<//>`);
  }
  const waited = between(due ?? before, start);
  if (waited !== null && waited > 0) steps.push(pause("wait", due || number === 1 ? `waited ${spanText(waited)} in the queue` : `waited ${spanText(waited)}`));
  return steps;
}

/** @param {{ at: string | null, kind: string, children?: Child }} props */
function Step({ at, kind, children }) {
  return html`<li class="step step-${kind}"><span class="step-time"><${Time} at=${at} /></span><span class="step-text">${children}</span></li>`;
}

/** @param {{ children?: Child }} props */
function Pause({ children }) {
  return html`<li class="step step-pause"><span class="step-time"></span><span class="step-text faint">${children}</span></li>`;
}

/**
 * `error` is its first line, `again` whether it is that of the attempt before.
 * @param {{ attempt: Api.Attempt, error: string | null, again: boolean }} props
 */
function AttemptStep({ attempt, error, again }) {
  const { number, status, started_at: start, finished_at: end, worker } = attempt;
  return html`<${Step} at=${start} kind="attempt">
    <span>Attempt ${number}</span> <${Status} of=${status} />
    <span>${end ? ` after ${spanText(between(start, end))}` : html` for <${Since} at=${start} />`}</span>
    ${again && html`<span> with the same error</span>`}
    ${worker && html`<span class="faint"> on ${worker}</span>`}
    ${error && html`<span class="step-error">${error}</span>`}
  <//>`;
}

/**
 * Where it stands now, or how it ended.
 * @param {{ run: Api.Run, attempts: Api.Attempt[] }} props
 */
function Last({ run, attempts }) {
  const reason = run.reason ? html`<span class="faint"> (${run.reason})</span>` : null;
  if (run.finished_at) {
    return html`<${Step} at=${run.finished_at} kind="end">
      <${Status} of=${run.status} /> ${spanText(between(run.created_at, run.finished_at))} after it was created${reason}
    <//>`;
  }
  if (run.status === "running") return null;
  if (run.status === "scheduled") {
    if (!attempts.length) return null; // its time to start is above
    return html`<${Step} at=${run.scheduled_for} kind="waiting">Attempt ${run.attempt + 1} is due <${Time} at=${run.scheduled_for} ago />${reason}<//>`;
  }
  return html`<${Step} at=${run.updated_at} kind="waiting"><${Status} of="queued" /> for <${Since} at=${run.updated_at} /><//>`;
}

/** @param {{ at: string }} props */
function Since({ at }) {
  return spanText(Math.max(0, Math.round((useNow() - Date.parse(at)) / 1000)));
}

/**
 * The first line of an error says what it is.
 * @param {string} error
 */
const headline = (error) => error.trim().split("\n")[0];

// A slim bar over the whole life of a run: when it waited, when it ran, and how each attempt ended.

/** @typedef {{ kind: string, tone: string, seconds: number, text: string }} Piece */

const OWN_PIECES = 40; // attempts that get a piece of their own; those before them share one

/** @param {{ run: Api.Run, attempts: Api.Attempt[] }} props */
function LifeBar({ run, attempts }) {
  const now = useNow();
  const pieces = piecesOf(run, attempts, run.finished_at ? Date.parse(run.finished_at) : now);
  const [delayed, waited, ran] = ["delayed", "waiting", "ran"].map((kind) => sum(pieces, kind));
  const count = attempts.length;
  const whole = delayed + waited + ran || 1;
  // Of attempts before the last one it is not kept when they were due.
  const parts = [
    delayed > 0 && `delayed ${spanText(delayed)}`,
    (waited > 0 || !delayed) && `waited ${spanText(waited)}${count <= 1 ? " in the queue" : " (with delays before retries)"}`,
    count > 0 && `ran ${spanText(ran)} in ${count} ${count === 1 ? "attempt" : "attempts"}`,
  ].filter(Boolean);
  const text = `${parts.join(", ").replace(/^./, (letter) => letter.toUpperCase())}.`;
  return html`
    <div class="life" role="img" aria-label=${text}>
      ${pieces.map((one, index) => html`<span key=${index} class="life-${one.tone}" title=${one.text} style=${{ flexGrow: (100 * one.seconds) / whole }}></span>`)}
    </div>
    <p class="faint life-text">${text}</p>
  `;
}

/**
 * @param {Piece[]} pieces
 * @param {string} kind
 */
const sum = (pieces, kind) => pieces.reduce((total, one) => total + (one.kind === kind ? one.seconds : 0), 0);

/**
 * When an attempt was due, if that is known and lies behind `before`: `scheduled_for` is about the newest attempt, which
 * begins at `start`, or has yet to begin.
 * @param {Api.Run} run
 * @param {number} number
 * @param {string | null} before
 * @param {string | null} start
 */
function dueOf(run, number, before, start) {
  const newest = Math.max(1, run.status === "scheduled" ? run.attempt + 1 : run.attempt);
  const due = run.scheduled_for;
  return number === newest && (between(before, due) ?? 0) > 0 && (start === null || (between(due, start) ?? 0) >= 0) ? due : null;
}

/**
 * `[{kind, tone, seconds, text}]` from the moment it was made until `end`, in milliseconds.
 * @param {Api.Run} run
 * @param {Api.Attempt[]} attempts
 * @param {number} end
 */
function piecesOf(run, attempts, end) {
  /** @type {Piece[]} */
  const pieces = [];
  let at = Date.parse(run.created_at);
  /**
   * @param {string} kind
   * @param {string} tone
   * @param {number} until
   * @param {string} name
   */
  const add = (kind, tone, until, name) => {
    const seconds = Math.max(0, (until - at) / 1000);
    if (seconds > 0) pieces.push({ kind, tone, seconds, text: `${name}, ${spanText(seconds)}` });
    at = Math.max(at, until);
  };
  for (const attempt of attempts) {
    if (!attempt.started_at) continue;
    const due = dueOf(run, attempt.number, new Date(at).toISOString(), attempt.started_at);
    if (due) add("delayed", "delayed", Date.parse(due), "delayed");
    add("waiting", "waiting", Date.parse(attempt.started_at), "waiting");
    const until = attempt.finished_at ? Date.parse(attempt.finished_at) : end;
    add("ran", toneOf(attempt.status), until, `attempt ${attempt.number}: ${attempt.status}`);
  }
  if (run.status === "scheduled") add("delayed", "delayed", end, "delayed");
  add("waiting", "waiting", end, "waiting");
  return merged(pieces);
}

/** @param {Piece[]} pieces */
function merged(pieces) {
  const early = pieces.slice(0, Math.max(0, pieces.length - 2 * OWN_PIECES));
  if (!early.length) return pieces;
  /**
   * @param {string} kind
   * @param {string} tone
   * @param {string} name
   */
  const one = (kind, tone, name) => ({ kind, tone, seconds: sum(early, kind), text: `earlier ${name}, ${spanText(sum(early, kind))}` });
  return [one("delayed", "delayed", "delays"), one("waiting", "waiting", "waiting"), one("ran", "off", "attempts"), ...pieces.slice(early.length)];
}

// Each attempt of a run: who worked on it, how long, and what it came to, with the whole traceback.

const ATTEMPTS_SHOWN = 10; // the latest, until all are asked for
const LONG_ERROR = 8; // lines of an error, above which it is folded

/** @param {{ run: Api.Run, attempts: Api.Attempt[] }} props */
export function RunAttempts({ run, attempts }) {
  const [all, showAll] = useState(false);
  const newest = [...attempts].reverse();
  const shown = all ? newest : newest.slice(0, ATTEMPTS_SHOWN);
  const latestFault = newest.find((one) => one.error)?.number;
  const known = attempts.some((one) => one.error === run.error);
  if (!run.error && !attempts.some(hasMore)) return null; // then the timeline has said it all
  return html`
    <${Section} title="Attempts">
      ${run.error && !known && html`<${Fault} text=${run.error} name="Error of the run" open />`}
      <ol class="attempts">
        ${shown.map(
          (one, index) => html`<li key=${one.number}>
            <${Attempt} attempt=${one} latest=${index === 0} open=${one.number === latestFault} same=${sameAs(one, newest.slice(0, index))} />
          </li>`,
        )}
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
  if (lines <= LONG_ERROR) return block;
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
