// Schedules in plain words: what their settings mean, who declares them, and what a change by hand comes to.

/** A tick while an earlier run of the schedule lives. */
export const OVERLAP = {
  skip: "skip this one",
  queue_one: "let one wait until it has ended",
  allow: "start all the same",
  cancel_previous: "cancel the earlier run, then start",
};

/** Ticks that no scheduler was there for. */
export const CATCH_UP = {
  latest: "one run for all that were missed",
  all: "a run for each that was missed",
  none: "no run",
};

/** A tick outside the window. */
export const OUTSIDE = {
  defer: "waits until the window opens, one run for all such ticks",
  skip: "makes no run",
};

/**
 * Which schedules have their words from a program, and will get them from it again.
 * @param {Pick<Api.Schedule, "source">} given
 */
export const isDeclared = ({ source }) => source.startsWith("code:") || source.startsWith("file:");

/**
 * Who declared it.
 * @param {Pick<Api.Schedule, "source">} given
 */
export function sourceText({ source }) {
  const [kind, ...project] = source.split(":");
  if (kind === "code") return `in the code of ${project.join(":")}`;
  if (kind === "file") return `by a job file of ${project.join(":")}`;
  return kind === "api" ? "by hand: the dashboard, the command line or the API" : `by hand (${source})`;
}

/**
 * What changing or deleting it here comes to, if a program declares it.
 * @param {Api.Schedule} schedule
 */
export function declaredText(schedule) {
  return `This schedule is declared ${sourceText(schedule)}. A running scheduler of that program declares it again every minute, and at every start: what is changed or deleted here comes back as it is declared there. Change it there to last. A pause stays.`;
}

/**
 * Whether it ticks: a word for its state, and what there is to say.
 * @param {Api.Schedule} schedule
 */
export function stateOf({ enabled, paused, reason, broken, last_error }) {
  if (broken) return { state: "broken", reason: last_error };
  if (paused) return { state: "paused", reason: reason === "paused" ? null : reason };
  return enabled ? { state: "enabled", reason: null } : { state: "disabled", reason };
}

const UNITS = { d: 86_400, h: 3600, m: 60, s: 1 };
const SPAN = /^(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?$/;

/**
 * Seconds of a span such as 90, 30s, 5m, 1h30m or 2d; null, if it is none.
 * @param {string} text
 */
export function secondsOf(text) {
  const found = text.replace(/\s+/g, "").match(SPAN);
  return found && found.slice(1).reduce((sum, number, index) => sum + Number(number ?? 0) * Object.values(UNITS)[index], 0);
}

/**
 * The other way round: 5400 is 1h30m.
 * @param {number} seconds
 */
export function spanWords(seconds) {
  let left = seconds;
  let text = "";
  for (const [unit, size] of Object.entries(UNITS)) {
    const number = unit === "s" ? left : Math.floor(left / size);
    if (number) text += `${unit === "s" ? Number(number.toFixed(6)) : number}${unit}`;
    left -= number * size;
  }
  return text || "0s";
}
