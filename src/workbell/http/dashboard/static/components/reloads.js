// What became of job files since the page was opened: "reloaded", or the error, for as long as it stands.
import { useLive } from "../live.js";
import { Link, to, useLocation } from "../router.js";
import { html, useEffect, useRef, useState } from "../ui.js";

const SHOWN = 10_000; // milliseconds
const MOST = 3;

/** In the frame of every screen. What was saved before the page was opened is no news; what is still wrong is shown. */
export function Reloads() {
  const { rows } = useLive("reloads");
  const { parts } = useLocation();
  const news = useNews(rows);
  const wrong = problemsOf(rows).filter((one) => !isShownBy(parts, one));
  const more = wrong.length - MOST;
  return html`
    <div class="reloads" role="status">
      ${wrong.slice(0, MOST).map((one) => html`<${FileProblem} key=${one.id} problem=${one} />`)}
      ${more > 0 && html`<p class="trouble"><${Link} to=${to(["jobs"])}>and ${more} more<//></p>`}
      ${news.map((one) => html`<p key=${one.id} class="reloaded"><${News} row=${one} /></p>`)}
    </div>
  `;
}

/**
 * The list of jobs shows them all itself, and the screen of a job its own.
 * @param {string[]} parts
 * @param {Api.Reload} problem
 */
const isShownBy = ([screen, job], problem) => screen === "jobs" && (job === undefined || problem.jobs.includes(job));

/** What is wrong with job files now, by file and line; null until the server has told. */
export function useFileProblems() {
  const { rows } = useLive("reloads");
  return rows && problemsOf(rows);
}

/** @param {Map<string, Api.Reload> | null} rows */
function problemsOf(rows) {
  const standing = [...(rows?.values() ?? [])].filter((row) => row.standing);
  const once = new Map(standing.map((row) => [JSON.stringify([row.path, row.line, row.message]), row]));
  return [...once.values()].sort((one, other) => one.path.localeCompare(other.path) || (one.line ?? 0) - (other.line ?? 0));
}

/**
 * One thing that is wrong with a file, and what runs meanwhile.
 * @param {{ problem: Api.Reload, elsewhere?: boolean }} props
 */
export function FileProblem({ problem, elsewhere = true }) {
  return html`<p class="trouble">
    <strong>${problem.path}${problem.line && `, line ${problem.line}`}</strong>: ${problem.message}${" "}
    ${problem.jobs.length ? "Its last version keeps running." : "Until then it is left out."}${" "}
    ${elsewhere && html`<${Link} to=${to(["jobs"])}>Jobs<//>`}
  </p>`;
}

/**
 * The rows that came since the page was opened, each for a while; of a file the latest.
 * @param {Map<string, Api.Reload> | null} rows
 */
function useNews(rows) {
  const [news, setNews] = useState(/** @type {Api.Reload[]} */ ([]));
  const latest = useRef(/** @type {number | null} */ (null));
  useEffect(() => {
    if (!rows) {
      latest.current = null;
      return;
    }
    const before = latest.current;
    const all = [...rows.values()];
    latest.current = Math.max(before ?? 0, ...all.map((row) => Date.parse(row.at)));
    const fresh = all.filter((row) => before !== null && Date.parse(row.at) > before);
    if (!fresh.length) return;
    const files = new Map(fresh.sort((one, other) => Number(one.id) - Number(other.id)).map((row) => [row.path, row]));
    const good = [...files.values()].filter((row) => row.outcome !== "failed");
    setNews((shown) => [...shown.filter((row) => !files.has(row.path)), ...good].slice(-MOST));
    setTimeout(() => setNews((shown) => shown.filter((row) => !fresh.includes(row))), SHOWN);
  }, [rows]);
  return news;
}

/** @param {{ row: Api.Reload }} props */
function News({ row }) {
  const jobs = row.jobs.map((name) => html` · job <${Link} key=${name} to=${to(["jobs", name])}>${name}<//>`);
  if (row.outcome === "removed") return html`${row.path} is gone.`;
  if (row.message) return html`${row.path}: ${row.message}${jobs}`;
  return html`${row.outcome === "changed" ? "reloaded" : "loaded"} ${row.path}${jobs}`;
}
