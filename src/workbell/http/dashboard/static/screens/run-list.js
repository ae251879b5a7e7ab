// The list of runs: its filter is the address, its first page is live, and no row moves under the pointer.
import { api, part } from "../api.js";
import { BulkBar } from "../components/bulk-bar.js";
import { filterOf, RunFilter } from "../components/run-filter.js";
import { Empty, Loading, Page, Trouble } from "../components/page.js";
import { Pager } from "../components/pager.js";
import { RunTable } from "../components/run-table.js";
import { Settled } from "../components/settled.js";
import { announce } from "../components/toasts.js";
import { useLive } from "../live.js";
import { usePoll } from "../poll.js";
import { Link, to, useLocation, wordsOf } from "../router.js";
import { Time } from "../times.js";
import { html, useEffect, useState } from "../ui.js";

const PAGE = 50;
/**
 * @param {Api.Run} one
 * @param {Api.Run} other
 */
const newestFirst = (one, other) => (one.id < other.id ? 1 : -1);

export function RunList() {
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
    <${Settled} found=${found} isHeld=${(run) => chosen.has(run.id)} readCurrent=${readCurrent} changes=${(run) => run.finished_at === null} above=${bar} empty=${html`<${Nothing} any=${words.any} next=${next} />`}>
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
