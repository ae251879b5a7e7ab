// A front for tests: gives each name a database of its own, and can lose, delay or fail calls. POST /name/fault sets
// what happens to the calls of a name: {kind, every, after, message, env}. POST /name/sql executes [[sql, values], …] there,
// as another program with that database would. Everything else goes to the bridge.
import bridge from "./worker.mjs";

const given = new Map(); // name → {place in the pool, its database when that is empty}
const faults = new Map(); // name → what is to happen

export default {
  async fetch(request, env, context) {
    const url = new URL(request.url);
    const [, name, ...rest] = url.pathname.split("/");
    if (rest[0] === "fault") {
      faults.set(name, { calls: 0, failed: 0, ...(await request.json()) });
      return new Response();
    }
    if (rest[0] === "failed") return Response.json(faults.get(name)?.failed ?? 0);
    const fault = faults.get(name);
    const db = await database(name, env);
    if (rest[0] === "sql") {
      await db.batch((await request.json()).map(([text, values]) => db.prepare(text).bind(...values)));
      return new Response();
    }
    const inner = { ...env, DB: db, ...fault?.env };
    if (!fault || rest[1] !== "batch") return bridge.fetch(request, inner, context);
    fault.calls += 1;
    if (fault.calls % fault.every !== 0) return bridge.fetch(request, inner, context);
    fault.failed += 1;
    if (fault.kind === "lost") {
      // The call is worked on, and its answer never arrives: as when a connection breaks.
      await bridge.fetch(request, inner, context);
      return new Response("<html>522</html>", { status: 522 });
    }
    if (fault.kind === "never") return new Response("<html>502</html>", { status: 502 });
    if (fault.kind === "late") {
      const answer = await bridge.fetch(request, inner, context);
      await new Promise((done) => setTimeout(done, fault.after));
      return answer;
    }
    // D1 itself fails, before or after it has written.
    const failing = {
      prepare: (text) => db.prepare(text),
      batch: async (statements) => {
        if (fault.kind === "after") await db.batch(statements);
        throw new Error(fault.message);
      },
    };
    return bridge.fetch(request, { ...inner, DB: failing }, context);
  },
};

function database(name, env) {
  if (!given.has(name)) {
    let place = given.size;
    if (env[`DB${place}`] === undefined) {
      const [oldest] = given.keys();
      place = given.get(oldest).place;
      given.delete(oldest);
    }
    given.set(name, { place, empty: emptied(name, env[`DB${place}`]) });
  }
  return given.get(name).empty;
}

async function emptied(name, db) {
  const others = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'kumofire%'";
  const drops = (await db.prepare(others).all()).results.map((table) => db.prepare(`DROP TABLE ${table.name}`));
  if (drops.length) await db.batch([db.prepare("PRAGMA defer_foreign_keys = true"), ...drops]);
  const { results } = await db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'workbell%'").all();
  if (!results.length) return db;
  const made = name.startsWith("made") && results.length > 20;
  const clear = (table) => {
    if (!made) return `DROP TABLE ${table}`;
    return table === "workbell_meta" ? "DELETE FROM workbell_meta WHERE name LIKE 'service/%'" : `DELETE FROM ${table}`;
  };
  await db.batch(results.map((table) => db.prepare(clear(table.name))));
  if (made) await db.prepare("UPDATE workbell_meta SET value = '0' WHERE name = 'subscriptions'").run();
  return db;
}
