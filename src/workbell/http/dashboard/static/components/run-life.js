// A slim bar over the whole life of a run: when it waited, when it ran, and how each attempt ended.
import { between, spanText, useNow } from "../times.js";
import { html } from "../ui.js";
import { toneOf } from "./status.js";

/** @typedef {{ kind: string, tone: string, seconds: number, text: string }} Piece */

const SHOWN = 40; // attempts that get a piece of their own; those before them share one

/** @param {{ run: Api.Run, attempts: Api.Attempt[] }} props */
export function LifeBar({ run, attempts }) {
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
export function dueOf(run, number, before, start) {
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
  const early = pieces.slice(0, Math.max(0, pieces.length - 2 * SHOWN));
  if (!early.length) return pieces;
  /**
   * @param {string} kind
   * @param {string} tone
   * @param {string} name
   */
  const one = (kind, tone, name) => ({ kind, tone, seconds: sum(early, kind), text: `earlier ${name}, ${spanText(sum(early, kind))}` });
  return [one("delayed", "delayed", "delays"), one("waiting", "waiting", "waiting"), one("ran", "off", "attempts"), ...pieces.slice(early.length)];
}
