// Runs: their list with its filter, and what can be done with many; and one of them, if the address names it.
import { api, part, Problem, useMay } from "../api.js";
import { Action } from "../components/dialog.js";
import { Empty, Loading, Page, Pager, Trouble } from "../components/page.js";
import { filterOf, RunFilter } from "../components/run-filter.js";
import { RunTable, useRunCount } from "../components/run-table.js";
import { Settled } from "../components/table.js";
import { announce } from "../components/toasts.js";
import { countText } from "../components/value.js";
import { useLive, usePoll } from "../live.js";
import { go, Link, to, useLocation, wordsOf } from "../router.js";
import { Time } from "../times.js";
import { html, useEffect, useState } from "../ui.js";
import { Run } from "./run.js";

/** @param {{ parts: string[] }} props */
export function Runs({ parts }) {
  return parts.length ? html`<${Run} id=${parts[0]} />` : html`<${RunList} />`;
}

// The list of runs: its filter is the address, its first page is live, and no row moves under the pointer.

const PAGE = 50;
/**
 * @param {Api.Run} one
 * @param {Api.Run} other
 */
const newestFirst = (one, other) => (one.id < other.id ? 1 : -1);

function RunList() {
  const { query } = useLocation();
  const { words, problem: wrong } = filterOf(query);
  const before = query.get("before");
  return html`
    <${Page} title="Runs" lead="Every run, newest first.">
      <${RunFilter} />
      <${Trouble} problem=${wrong} />
      ${words && (before ? html`<${Older} words=${words} before=${before} />` : html`<${Newest} words=${words} />`)}
    <//>
  `;
}

/**
 * The first page, over the WebSocket.
 * @param {{ words: RunFilterWords }} props
 */
function Newest({ words }) {
  const { rows, next, problem } = useLive("runs", { ...words.topic, limit: PAGE });
  const found = rows && [...rows.values()].sort(newestFirst);
  const known = found !== null;
  useEffect(() => {
    if (known) announce(`${found.length} runs are shown.`); // for this filter; not whenever one comes
  }, [known]);
  if (!known) return problem ? html`<${Trouble} problem=${problem} />` : html`<${Loading} />`;
  return html`<${Trouble} problem=${problem} /><${Listed} found=${found} words=${words} next=${next} />`;
}

/**
 * A later page, which stands still.
 * @param {{ words: RunFilterWords, before: string }} props
 */
function Older({ words, before }) {
  const { data, problem } = usePoll("/runs", { ...words.query, before, limit: PAGE }, 0);
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  return html`<${Listed} found=${data.items} words=${words} next=${data.next} />`;
}

/** @param {Api.Run} run */
const readCurrent = (run) => api.get(`/runs/${part(run.id)}`);

/** @param {{ found: Api.Run[], words: RunFilterWords, next: string | null | undefined }} props */
function Listed({ found, words, next }) {
  const [chosen, choose] = useState(/** @type {Set<string>} */ (new Set()));
  /** @param {Api.Run[]} rows */
  const bar = (rows) => html`<${BulkBar} chosen=${chosen} clear=${() => choose(new Set())} words=${words} rows=${rows} />`;
  return html`
    <${Settled} found=${found} isHeld=${(run) => chosen.has(run.id)} readCurrent=${readCurrent} changes=${(run) => run.finished_at === null}
      above=${bar} empty=${html`<${Nothing} any=${words.any} next=${next} />`}>
      ${(rows) => html`<${RunTable} rows=${rows} chosen=${chosen} choose=${choose} />`}
    <//>
    ${found.length > 0 && html`<${Pager} next=${next} />`}
  `;
}

const COMMAND = 'workbell jobs run JOB --input \'{"name": "value"}\'';

/**
 * When the run with this id was made: its first 48 bits are milliseconds.
 * @param {string} id
 */
const madeAt = (id) => new Date(parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toISOString();

/** @param {{ any: boolean, next: string | null | undefined }} props */
function Nothing({ any, next }) {
  const { parts, query } = useLocation();
  if (next) {
    return html`<${Empty}>
      No run matches so far. Looked back to <${Time} at=${madeAt(next)} />; there are older runs.<br />
      <${Link} class="button" to=${to(parts, { ...wordsOf(query), before: next })}>Search older runs<//>
    <//>`;
  }
  if (any) return html`<${Empty}>No run matches this filter.<//>`;
  return html`<${Empty} code=${COMMAND}>Nothing has run yet. Enqueue something:<//>`;
}

// What can be done with many runs: with those that are chosen, or with all that match the filter.

/** @type {Api.RunStatus[]} */
const LIVE = ["scheduled", "queued", "running"];
/** @type {Api.RunStatus[]} */
const ENDED = ["succeeded", "failed", "canceled"];
const AT_ONCE = 6; // requests in the air

/** @param {{ chosen: Set<string>, clear: () => void, words: RunFilterWords, rows: Api.Run[] }} props */
function BulkBar({ chosen, clear, words, rows }) {
  const may = useMay("operate");
  const picked = rows.filter((run) => chosen.has(run.id));
  const live = picked.filter((run) => LIVE.includes(run.status));
  const ended = picked.filter((run) => ENDED.includes(run.status) && !run.retried_by);
  const before = picked.filter((run) => run.retried_by).length;
  return html`
    <div class="bulk" role="group" aria-label="Actions on many runs">
      ${
        picked.length > 0
          ? html`
              <strong>${picked.length} chosen</strong>
              <${Action} label=${`Cancel ${live.length}`} disabled=${!live.length} classes="danger"
                ask=${{ title: `Cancel ${runsText(live.length)}?`, text: "What has not started will not; what runs is asked to stop.", action: "Cancel them", keep: "Keep them" }}
                run=${() => each(live, "cancel", clear)} />
              <${Action} label=${`Retry ${ended.length}`} disabled=${!ended.length}
                ask=${{ title: `Retry ${runsText(ended.length)}?`, text: `Each is started again as a new run with the same input.${leftOut(before)}`, action: "Retry them", calm: true }}
                run=${() => each(ended, "retry", clear)} />
              <button type="button" class="small quiet" onClick=${clear}>Choose none</button>
            `
          : html`<${AllMatching} words=${words} may=${may} />`
      }
    </div>
  `;
}

/** @param {number} count */
const leftOut = (count) => (count ? ` ${runsText(count)} of those chosen ${count === 1 ? "was" : "were"} retried before, and ${count === 1 ? "is" : "are"} left out.` : "");

/** @param {number} count */
const runsText = (count) => `${count.toLocaleString("en")} ${count === 1 ? "run" : "runs"}`;

/**
 * @param {Api.Run[]} runs
 * @param {"cancel" | "retry"} verb
 * @param {() => void} clear
 */
async function each(runs, verb, clear) {
  let done = 0;
  /** @type {Failure[]} */
  const refused = [];
  const left = [...runs];
  const work = async () => {
    for (let run = left.shift(); run; run = left.shift()) {
      try {
        await api.post(`/runs/${part(run.id)}/${verb}`);
        done++;
      } catch (problem) {
        refused.push(problem);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  clear();
  const last = refused.at(-1);
  if (last) throw new Error(`${done} of ${runs.length} done. ${last.message}`);
  return `${runsText(done)}: ${verb === "cancel" ? "canceled" : "started again"}.`;
}

/**
 * All that match, also those on other pages: a run of its own does it, and can be watched.
 * @param {{ words: RunFilterWords, may: boolean }} props
 */
function AllMatching({ words, may }) {
  const count = useRunCount(words.query);
  if (!count) return null;
  if (!words.any) return html`<span class="faint">${countText(count)} ${count.count === 1 ? "run" : "runs"}</span>`;
  return html`
    <span>${countText(count)} match</span>
    ${may && html`<${Bulk} action="cancel" label="Cancel all matching" words=${words} /><${Bulk} action="retry" label="Retry all matching" words=${words} />`}
  `;
}

// What an action can be done to, what it means where the filter names no status, and what comes of it.
/** @type {{ [action: string]: { possible: Api.RunStatus[], meant: Api.RunStatus[], outcome: string, more?: { retried: boolean } } }} */
const ACTIONS = {
  cancel: { possible: LIVE, meant: LIVE, outcome: "will be canceled" },
  retry: { possible: ENDED, meant: ["failed"], outcome: "will be started again as new runs", more: { retried: false } },
};

/** @param {string[]} words */
const oneOf = (words) => words.join(", ").replace(/, ([^,]*)$/, " or $1");

/** @param {Api.Words} query */
const count = (query) => api.get("/runs/count", query);

/** @param {{ action: "cancel" | "retry", label: string, words: RunFilterWords }} props */
function Bulk({ action, label, words }) {
  const { possible, meant, outcome, more } = ACTIONS[action];
  const wanted = words.topic.status;
  const status = wanted ? wanted.filter((name) => possible.includes(name)) : meant;
  if (!status.length || (more?.retried === false && words.query.retried === "true")) return null;
  const ask = async () => {
    const [found, all] = await Promise.all([count({ ...words.query, status, ...more }), count({ ...words.query, status })]);
    const before = all.count - found.count;
    if (!found.count) throw new Problem(before > 0 ? `All ${countText(all)} were retried before.` : `No run that matches is ${oneOf(status)}.`);
    const retried = before > 0 && !all.capped ? ` ${runsText(before)} that ${before === 1 ? "was" : "were"} retried before ${before === 1 ? "is" : "are"} left out.` : "";
    const text = `${countText(found)} ${oneOf(status)} ${found.count === 1 ? "run" : "runs"} ${outcome}.${retried} A run of its own does it, which you can watch and cancel.`;
    return { title: `${label}?`, text, action: label, calm: action === "retry", keep: action === "cancel" ? "Keep them" : undefined };
  };
  const run = async () => {
    const made = await api.post("/bulk", { action, filter: { ...words.topic, status, ...more } });
    go(to(["runs", made.id]));
  };
  return html`<${Action} label=${label} ask=${ask} run=${run} classes=${action === "cancel" ? "small danger" : "small"} />`;
}
