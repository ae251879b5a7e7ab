// The two ways in which data comes: pushed over the WebSocket (`useLive`), and asked for again and again (`usePoll`).
import { api, parse, Problem, signedOut, stringify } from "./api.js";
import { currentQuery, listenToLocation, root, useLocation } from "./router.js";
import { shared, useCallback, useEffect, useRef, useState } from "./ui.js";

// The one WebSocket of the page: topics that the server keeps current. Silent when the tab is hidden, and when paused.

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;
const PATIENCE = 3; // attempts, before it is said that there is no connection
const BEAT = 10_000; // between two questions whether the server is there
const SILENCE = 25_000; // after which a connection counts as broken: no network tells that by itself
const MOST_LINES = 20_000; // of a log; what was before them can be asked for

const BROKEN = `There is no live connection. Is the server running? A proxy before it must let WebSockets to ${root}/ws through. The page tries again by itself.`;

/** Whether a person wants the page to stand still. Then nothing is asked or listened to. */
export const paused = shared(false);
/** `live`, `connecting`, `paused` or `hidden`. */
export const state = shared(/** @type {"live" | "connecting" | "paused" | "hidden"} */ ("connecting"));

/** Whether the page may talk to the server by itself. */
const isAwake = shared(!document.hidden);

/**
 * @typedef {{ [word: string]: unknown }} Filter
 * @typedef {{ topic: string, filter: Filter, begin: () => void, take: (message: Changes) => void, fail: (problem: Failure) => void }} Subscription
 * @typedef {{ removed?: string[], items?: any[], next?: string | null, logs?: Api.LogLine[] }} Changes
 */

/** @type {Map<string, Subscription>} */
const subscriptions = new Map();
/** @type {WebSocket | null} */
let socket = null;
let attempt = 0;
/** @type {number | null} */
let timer = null;
let number = 0;
let opening = 0;
/** @type {Problem | null} */
let refusal = null; // why the server did not want the last connection
let receivedAt = 0; // when the server last said something
/** @type {string | null} */
let knownTenant = null; // of the last connection that was accepted; at first the own one

function follow() {
  isAwake.set(!document.hidden && !paused.get() && !signedOut.get());
  if (isAwake.get()) {
    if (subscriptions.size) open();
    else state.set("live");
  } else {
    close();
    state.set(paused.get() ? "paused" : "hidden");
  }
}

document.addEventListener("visibilitychange", follow);
paused.listen(follow);
signedOut.listen(follow);

let tenant = currentQuery().get("tenant");
follow();
listenToLocation(({ query }) => {
  if (query.get("tenant") === tenant) return;
  tenant = query.get("tenant");
  close(); // a socket is for one tenant
  follow();
});

async function open() {
  if (socket || timer || opening) return;
  const mine = (opening = ++number);
  state.set("connecting");
  try {
    // A browser does not tell why a WebSocket was refused. So after a failure, and for another tenant, the API is asked first.
    if (attempt || tenant !== knownTenant) await api.get("/tokens/self");
    if (opening !== mine) return;
    const address = new URL(`${root}/ws`, location.href); // the session's cookie goes with it
    address.protocol = address.protocol.replace("http", "ws");
    if (tenant) address.searchParams.set("tenant", tenant);
    begin(new WebSocket(address));
  } catch (problem) {
    if (opening === mine) again(problem.status ? problem : null);
  } finally {
    if (opening === mine) opening = 0;
  }
}

/** @param {WebSocket} made */
function begin(made) {
  socket = made;
  receivedAt = Date.now();
  made.onmessage = ({ data }) => made === socket && receive(parse(data));
  made.onclose = () => made === socket && lose();
}

function lose() {
  socket?.close();
  close();
  again(null);
}

/**
 * Try again in a while; subscribers get a refusal at once, and a silence if it lasts.
 * @param {Problem | null} problem
 */
function again(problem) {
  if (!isAwake.get()) return;
  state.set("connecting");
  const failure = problem ?? refusal ?? (attempt + 1 >= PATIENCE ? new Problem(BROKEN) : null);
  if (failure) for (const subscription of subscriptions.values()) subscription.fail(failure);
  const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt++) * (0.75 + Math.random() / 2);
  timer = setTimeout(() => {
    timer = null;
    open();
  }, pause);
}

function close() {
  clearTimeout(timer ?? undefined);
  timer = null;
  opening = 0;
  const old = socket;
  socket = null;
  // One that is not open yet is let open first: to break it off counts as an error in the browser's console.
  if (old?.readyState === WebSocket.CONNECTING) old.onopen = () => old.close();
  else old?.close();
}

// A connection that has died on the way, or that is never accepted, ends by itself only after many minutes.
setInterval(() => {
  if (!socket) return;
  if (Date.now() - receivedAt > SILENCE) lose();
  else say({ type: "ping" });
}, BEAT);

/** @param {Changes & { type: string, id?: string, message: string, code: string }} message */
function receive(message) {
  receivedAt = Date.now();
  if (message.type === "connected") {
    attempt = 0;
    refusal = null;
    knownTenant = tenant;
    state.set("live");
    for (const [id, subscription] of subscriptions) ask(id, subscription);
    return;
  }
  if (message.type === "error" && message.id === undefined) refusal = new Problem(message.message, 0, message.code); // of the connection itself
  const subscription = subscriptions.get(message.id ?? "");
  if (!subscription) return;
  if (message.type === "changes") subscription.take(message);
  if (message.type === "error") subscription.fail(new Problem(message.message, 0, message.code));
}

/**
 * @param {string} id
 * @param {Subscription} subscription
 */
function ask(id, { topic, filter, begin: start }) {
  start();
  say({ type: "subscribe", id, topic, ...filter });
}

/** @param {object} message */
const say = (message) => socket?.readyState === WebSocket.OPEN && socket.send(stringify(message));

/**
 * Follow a topic. `publish({rows, logs, next})` is called with a Map of rows by key, the lines of a log, and the cursor of
 * older rows, whenever something changed; `fail(problem)` if the server refuses or cannot be reached. Returns how to leave. While the page is paused,
 * the last rows stay.
 * @template Row
 * @param {string} topic
 * @param {Filter} filter
 * @param {(row: Row) => string} keyOf
 * @param {(found: Pick<Followed<Row>, "logs" | "next"> & { rows: Map<string, Row> }) => void} publish
 * @param {(problem: Failure) => void} fail
 */
function subscribe(topic, filter, keyOf, publish, fail) {
  const id = String(++number);
  /** @type {Map<string, Row>} */
  let rows = new Map();
  /** @type {Api.LogLine[]} */
  let logs = [];
  /** @type {string | null} */
  let next = null;
  let fresh = false;
  /** @type {Subscription} */
  const subscription = {
    topic,
    filter,
    fail,
    begin: () => (fresh = true), // after a new connection the first changes are everything there is
    take(message) {
      rows = new Map(fresh ? [] : rows);
      if (fresh) [logs, next] = [[], null];
      fresh = false;
      for (const key of message.removed ?? []) rows.delete(key);
      for (const item of message.items ?? []) rows.set(keyOf(item), item);
      if (message.next !== undefined) next = message.next;
      if (message.logs) logs = [...logs, ...message.logs].slice(-MOST_LINES);
      publish({ rows, logs, next });
    },
  };
  subscriptions.set(id, subscription);
  if (socket?.readyState === WebSocket.OPEN && state.get() === "live") ask(id, subscription);
  else follow();
  return () => {
    subscriptions.delete(id);
    say({ type: "unsubscribe", id });
  };
}

/** @param {{ id: string | null, name?: string }} row */
const idOf = (row) => row.id ?? "";

/**
 * What a topic shows: `{rows: Map or null before the first, logs, next, problem}`. With a problem, the rows are the last that
 * were known. The filter is compared by its words.
 * @template {keyof Api.Topics} Topic
 * @param {Topic} topic
 * @param {Filter} [filter]
 * @param {(row: Api.Topics[Topic]) => string} [keyOf]
 * @returns {Followed<Api.Topics[Topic]>}
 */
export function useLive(topic, filter = {}, keyOf = idOf) {
  const words = stringify(filter);
  /** @type {Followed<Api.Topics[Topic]> & { words: string }} */
  const nothing = { rows: null, logs: [], next: null, problem: null, words };
  const [seen, see] = useState(nothing);
  useEffect(() => {
    see(nothing);
    return subscribe(
      topic,
      parse(words),
      keyOf,
      ({ rows, logs, next }) => see({ rows, logs, next, problem: null, words }),
      (problem) => see((before) => ({ ...before, problem })),
    );
  }, [topic, words, tenant]);
  return seen.words === words ? seen : nothing;
}

// Asking again and again, for what has no topic: not when the tab is hidden, not when paused, never twice at once.

const INCOMPLETE = 2; // seconds until an answer that is not complete is asked for again

/** @param {unknown} answer */
const isIncomplete = (answer) => typeof answer === "object" && answer !== null && "complete" in answer && !answer.complete;

/**
 * `{data, problem, reload}` of GET path, asked again every so many seconds (0: only once). While it is asked again,
 * and after a failure, the last data stay. `path` may be null: nothing is asked.
 * @template {Api.Paths<"GET">} P
 * @param {P | null} path
 * @param {Api.Query<"GET", P>} [query]
 * @returns {Polled<Api.Answer<"GET", P>>}
 */
export function usePoll(path, query = {}, seconds = 2) {
  const words = JSON.stringify(query);
  const tenant = useLocation().query.get("tenant");
  const key = `${path} ${words} ${tenant}`;
  const [seen, see] = useState(/** @type {Omit<Polled<Api.Answer<"GET", P>>, "reload"> & { key: string }} */ ({ data: null, problem: null, key }));
  const asked = useRef(/** @type {AbortController | null} */ (null));

  const ask = useCallback(async () => {
    if (path === null) return null;
    asked.current?.abort();
    const mine = (asked.current = new AbortController());
    try {
      const data = await api.get(path, JSON.parse(words), { signal: mine.signal });
      if (!mine.signal.aborted) see({ data, problem: null, key });
      return data;
    } catch (problem) {
      if (!mine.signal.aborted) see((before) => ({ data: before.key === key ? before.data : null, problem, key }));
      return null;
    }
  }, [key]);

  useEffect(() => {
    let timer = 0;
    let turn = 0; // a round that another has begun after, or that nobody waits for any more, is the last of its kind
    const round = async () => {
      const mine = ++turn;
      const pause = isIncomplete(await ask()) ? INCOMPLETE : seconds;
      if (mine === turn && pause && isAwake.get()) timer = setTimeout(round, pause * 1000);
    };
    const end = () => {
      turn++;
      clearTimeout(timer);
    };
    round();
    const stop = isAwake.listen((awake) => {
      end();
      if (awake) round();
    });
    return () => {
      end();
      asked.current?.abort();
      stop();
    };
  }, [ask, seconds]);

  const current = seen.key === key;
  return { data: current ? seen.data : null, problem: current ? seen.problem : null, reload: ask };
}
