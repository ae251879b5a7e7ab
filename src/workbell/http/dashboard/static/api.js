// Calls to the API, their JSON with whole numbers of any size, and who is signed in.
import { currentQuery, root } from "./router.js";
import { shared } from "./ui.js";

// The HTTP API: one function a method. What goes wrong is a `Problem` with the server's own words.

const DEADLINE = 30_000;
const SILENT = "The server does not answer. Is it running? The page tries again by itself.";
const UNKNOWN = "The server does not answer, so it is not known whether this was done. Check before you do it again.";

/** Whether the session is over; the frame says so and stops asking. */
export const signedOut = shared(false);

/** What the server, or the way to it, has to say against a request. */
export class Problem extends Error {
  /** @param {string} message */
  constructor(message, status = 0, code = "") {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * `api.get("/runs", {status: "failed"})`, `api.post("/runs", {job: "send"})`, … Paths begin below /api/v1.
 * @type {Api.Calls}
 */
export const api = {
  // Its two answers, with and without `whole`, are told apart by the type of `api`.
  /** @type {any} */
  get: (/** @type {string} */ path, /** @type {Api.Words} */ query = {}, /** @type {Api.Options} */ options = {}) => send("GET", path, query, undefined, options),
  post: (path, body, options) => send("POST", path, {}, body ?? {}, options),
  put: (path, body, options) => send("PUT", path, {}, body, options),
  patch: (path, body, options) => send("PATCH", path, {}, body, options),
  remove: (path, options) => send("DELETE", path, {}, undefined, options),
};

/** A part of a path: names may hold any characters. */
export const part = encodeURIComponent;

/**
 * The full address of a path, for people who want to copy it.
 * @param {Api.Paths<"GET">} path
 */
export const addressOf = (path) => `${location.origin}${root}/api/v1${path}${queryText({})}`;

/** @param {Api.Words} query */
function queryText(query) {
  const words = new URLSearchParams();
  const tenant = currentQuery().get("tenant");
  for (const [name, value] of Object.entries(tenant ? { ...query, tenant } : query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") words.append(name, String(one));
    }
  }
  const text = words.toString();
  return text ? `?${text}` : "";
}

/**
 * `options.signal` ends it early; `options.headers` are sent as well; `options.whole` answers `{body, headers}`.
 * @param {string} method
 * @param {string} path
 * @param {Api.Words} query
 * @param {unknown} body
 * @param {Api.Options & { whole?: boolean }} [options]
 * @returns {Promise<any>}
 */
async function send(method, path, query, body, { signal, headers = {}, whole = false } = {}) {
  const deadline = AbortSignal.timeout(DEADLINE);
  const address = `${root}/api/v1${path}${queryText(query)}`;
  /** @type {RequestInit} */
  const request = {
    method,
    headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
    body: body === undefined ? undefined : stringify(body),
    credentials: "same-origin",
    signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
  };
  let answer, text;
  try {
    answer = await fetch(address, request);
    text = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(method === "GET" ? SILENT : UNKNOWN);
  }
  if (answer.status === 401) signedOut.set(true);
  if (!answer.ok) throw problemOf(answer.status, text);
  const found = text ? read(text) : null;
  return whole ? { body: found, headers: answer.headers } : found;
}

/**
 * What a proxy on the way says instead of the server is no JSON.
 * @param {string} text
 */
function read(text) {
  try {
    return parse(text);
  } catch {
    throw new Problem("What came back is not an answer of Workbell. Is there a proxy that wants you to sign in? Load the page again.");
  }
}

/**
 * @param {number} status
 * @param {string} text
 */
function problemOf(status, text) {
  try {
    const problem = JSON.parse(text);
    return new Problem(problem.detail || problem.title || `The server answered ${status}.`, status, problem.type ?? "");
  } catch {
    return new Problem(`The server answered ${status}.`, status);
  }
}

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

// Who is signed in, and what they may do. The server checks it all again: buttons are hidden for calm, not for safety.

const me = shared(/** @type {Api.Session | null} */ (null));

/** Ask the server who this is; before the first screen is shown. */
export async function loadSession() {
  me.set(await api.get("/tokens/self"));
}

/** Who this is, once `loadSession` has ended; a tenant of `*` is all of them. */
export const useSession = () => /** @type {Api.Session} */ (me.use());

/**
 * Whether the scope is given.
 * @param {Api.Scope} scope
 */
export function useMay(scope) {
  return me.use()?.may.includes(scope) ?? false;
}
