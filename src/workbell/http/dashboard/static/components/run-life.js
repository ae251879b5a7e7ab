// A slim bar over the whole life of a run: when it waited, when it ran, and how each attempt ended.
import { spanText, useNow } from "../times.js";
import { html } from "../ui.js";
import { lookOf } from "./status.js";

const SHOWN = 40; // attempts that get a piece of their own; those before them share one

export function LifeBar({ run, attempts }) {
  const now = useNow();
  const pieces = piecesOf(run, attempts, run.finished_at ? Date.parse(run.finished_at) : now);
  const waited = sum(pieces, "waiting");
  const ran = sum(pieces, "ran");
  const count = attempts.length;
  const whole = waited + ran || 1;
  const text = `Waited ${spanText(waited)}${count ? `, ran ${spanText(ran)} in ${count} ${count === 1 ? "attempt" : "attempts"}` : ""}.`;
  return html`
    <div class="life" role="img" aria-label=${text}>
      ${pieces.map((one, place) => html`<span key=${place} class="life-${one.look}" title=${one.text} style=${{ flexGrow: (100 * one.seconds) / whole }}></span>`)}
    </div>
    <p class="faint life-text">${text}</p>
  `;
}

const sum = (pieces, kind) => pieces.reduce((total, one) => total + (one.kind === kind ? one.seconds : 0), 0);

/** `[{kind, look, seconds, text}]` from the moment it was made until `end`, in milliseconds. */
function piecesOf(run, attempts, end) {
  const pieces = [];
  let at = Date.parse(run.created_at);
  const add = (kind, look, until, name) => {
    const seconds = Math.max(0, (until - at) / 1000);
    if (seconds > 0) pieces.push({ kind, look, seconds, text: `${name}, ${spanText(seconds)}` });
    at = Math.max(at, until);
  };
  for (const attempt of attempts) {
    if (!attempt.started_at) continue;
    add("waiting", "waiting", Date.parse(attempt.started_at), "waiting");
    const until = attempt.finished_at ? Date.parse(attempt.finished_at) : end;
    add("ran", lookOf(attempt.status), until, `attempt ${attempt.number}: ${attempt.status}`);
  }
  add("waiting", "waiting", end, "waiting");
  return merged(pieces);
}

function merged(pieces) {
  const early = pieces.slice(0, Math.max(0, pieces.length - 2 * SHOWN));
  if (!early.length) return pieces;
  const one = (kind, look, name) => ({ kind, look, seconds: sum(early, kind), text: `earlier ${name}, ${spanText(sum(early, kind))}` });
  return [one("waiting", "waiting", "waiting"), one("ran", "off", "attempts"), ...pieces.slice(early.length)];
}
