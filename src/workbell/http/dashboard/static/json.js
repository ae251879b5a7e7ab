// JSON with whole numbers of any size: JavaScript's own reading would quietly round 2^53 + 1, and a run's input with it.

const LARGE = /\d{16}/;

/**
 * Reads JSON; a whole number that a double cannot hold becomes a BigInt.
 * @param {string} text
 */
export function parse(text) {
  if (!LARGE.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_name, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    return context && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
  });
}

/**
 * Writes JSON, with such numbers as they were.
 * @param {unknown} value
 * @returns {string}
 */
export function stringify(value, indent = 0) {
  /** @type {(name: string, value: unknown) => unknown} */
  const raw = (_name, one) => (typeof one === "bigint" ? exact(one) : one);
  return JSON.stringify(value, raw, indent);
}

/** @param {bigint} number */
function exact(number) {
  return JSON.rawJSON ? JSON.rawJSON(String(number)) : Number(number);
}

/**
 * For people: indented, and a text without quotes as it is.
 * @param {unknown} value
 */
export function pretty(value) {
  return stringify(value, 2) ?? "null";
}
