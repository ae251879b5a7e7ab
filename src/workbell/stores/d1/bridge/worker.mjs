// The bridge between Workbell and a D1 database: a Worker that executes batches of named queries.
//
//   GET  /v1/health  {version, sets, search, time}
//   POST /v1/batch   {set, batch: [[query, values, exactly?, text?], …]} → {answers, read, written, time}
//
// Every call needs `Authorization: Bearer TOKEN`. An error is {code, message}. What it means: docs/protocol.md of Workbell.
import { SETS, VERSION } from "./queries.mjs";
import { queue, scheduled } from "./queue.mjs";

const MOST_BYTES = 4 * 1024 * 1024;
const PARAMETER = /(?<![:\w]):([a-z_]+)/g;
const GUARD = /guard (\d+) found (\d+)/;

class Refusal extends Error {
  constructor(status, code, message, more) {
    super(message);
    this.status = status;
    this.told = { code, message, ...more };
  }
}

export default {
  async fetch(request, env) {
    try {
      await authorize(request, env);
      const { pathname } = new URL(request.url);
      if (request.method === "GET" && pathname.endsWith("/v1/health")) return health(env);
      if (request.method === "POST" && pathname.endsWith("/v1/batch")) return await batch(request, env);
      throw new Refusal(404, "not_found", "there are GET /v1/health and POST /v1/batch");
    } catch (error) {
      if (error instanceof Refusal) return Response.json(error.told, { status: error.status });
      console.error(error);
      return Response.json({ code: "failed", message: "the bridge failed; see its log" }, { status: 500 });
    }
  },
  queue,
  scheduled,
};

// Two tokens are valid at once, so that one can be replaced while programs still have the other.
async function authorize(request, env) {
  const tokens = [env.TOKEN, env.TOKEN_BEFORE].filter(Boolean);
  if (!tokens.length) throw new Refusal(503, "unavailable", "the Worker has no secret TOKEN; set it with wrangler secret put TOKEN");
  const given = await hash((request.headers.get("authorization") ?? "").replace(/^Bearer /i, ""));
  let known = false;
  for (const token of tokens) known = crypto.subtle.timingSafeEqual(given, await hash(token)) || known;
  if (!known) throw new Refusal(401, "unauthorized", "the token is not valid here");
}

function hash(text) {
  return crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
}

function health(env) {
  return Response.json({ version: VERSION, sets: Object.keys(SETS), search: env.SEARCH === "on", time: Date.now() });
}

async function batch(request, env) {
  const asked = await read(request);
  const queries = own(SETS, asked.set);
  if (!queries) throw new Refusal(409, "version", "this bridge has other queries", { version: VERSION });
  const statements = [];
  const places = asked.batch.map(([query, values, exactly, text], place) => {
    const sql = typeof text === "string" ? free(text, env) : own(queries, query);
    if (sql === undefined) throw new Refusal(400, "no_query", `there is no query ${query}`);
    statements.push(prepare(env.DB, sql, values));
    if (Number.isInteger(exactly)) statements.push(prepare(env.DB, guard(sql, place, exactly), values));
    return statements.length - (Number.isInteger(exactly) ? 2 : 1);
  });
  const results = statements.length ? await execute(env.DB, statements) : [];
  const answers = places.map((place) => `[${(results[place].results ?? []).map(row).join()}]`);
  const counted = (name) => results.reduce((sum, each) => sum + (each.meta?.[name] ?? 0), 0);
  const rest = JSON.stringify({ read: counted("rows_read"), written: counted("rows_written"), time: Date.now() });
  return new Response(`{"answers":[${answers.join()}],${rest.slice(1)}`, { headers: { "content-type": "application/json" } });
}

function own(named, name) {
  return Object.hasOwn(named, name) ? named[name] : undefined;
}

// SQLite has written the rows as JSON, in one or two parts; they are never parsed here, so no number loses a digit.
function row({ a, b }) {
  return b === undefined ? a : `${a.slice(0, -1)},${b.slice(1)}`;
}

async function read(request) {
  const parts = [];
  let size = 0;
  for await (const part of request.body ?? []) {
    size += part.length;
    if (size > MOST_BYTES) throw new Refusal(413, "too_large", `a call has at most ${MOST_BYTES} bytes`);
    parts.push(part);
  }
  try {
    const asked = JSON.parse(await new Blob(parts).text());
    if (Array.isArray(asked.batch) && asked.batch.every(Array.isArray)) return asked;
  } catch {}
  throw new Refusal(400, "bad_call", "the call must be {set, batch: [[query, values], …]}");
}

// Composed SQL, for searches. What begins with SELECT cannot write, and there is one statement.
function free(text, env) {
  if (env.SEARCH !== "on") throw new Refusal(403, "search_off", "SEARCH is not on");
  if (!/^SELECT\s/.test(text) || text.includes(";")) throw new Refusal(400, "no_query", "a search is one SELECT");
  return text;
}

// An integer comes as a text in a list, and is bound under a CAST: a number of JavaScript would be a REAL.
function prepare(db, sql, values) {
  const names = [];
  const text = sql.replace(PARAMETER, (_, name) => {
    if (!names.includes(name)) names.push(name);
    const place = `?${names.indexOf(name) + 1}`;
    return Array.isArray(values[name]) ? `CAST(${place} AS INTEGER)` : place;
  });
  return db.prepare(text).bind(...names.map((name) => [values[name]].flat()[0]));
}

// Ends the batch with an error if the statement before it has another number of rows. The error tells which and how many.
function guard(sql, place, exactly) {
  const found = sql.includes("RETURNING") ? "changes()" : `(SELECT count(*) FROM (${sql}))`;
  return `SELECT json_extract('{}', CASE ${found} WHEN ${exactly} THEN '$' ELSE 'guard ${place} found ' || ${found} END)`;
}

async function execute(db, statements) {
  try {
    return await db.batch(statements);
  } catch (error) {
    const message = String(error.message ?? error);
    const no = GUARD.exec(message);
    if (no) throw new Refusal(409, "conflict", "a guard said no", { at: Number(no[1]), found: Number(no[2]) });
    if (message.includes("SQLITE_CONSTRAINT")) throw new Refusal(409, "conflict", message);
    if (/SQLITE_(?!BUSY|LOCKED|IOERR|FULL)|D1_TYPE_ERROR/.test(message)) throw new Refusal(400, "refused", message);
    throw new Refusal(503, "unavailable", message); // it may have been written: whoever asked finds out
  }
}
