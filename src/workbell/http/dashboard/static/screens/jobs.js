// Jobs, live; and one of them, if the address names it.
import { Field } from "../components/form.js";
import { JobMarks, shareText, Starts, StripLink, useRunning } from "../components/jobs.js";
import { Empty, Loading, Page, Section, Trouble } from "../components/page.js";
import { FileProblem, useFileProblems } from "../components/reloads.js";
import { Table } from "../components/table.js";
import { useLive, usePoll } from "../live.js";
import { Link, setQuery, to, useLocation } from "../router.js";
import { spanText } from "../times.js";
import { html } from "../ui.js";
import { Job } from "./job.js";

/** @param {{ parts: string[] }} props */
export function Jobs({ parts }) {
  return parts.length ? html`<${Job} name=${parts[0]} />` : html`<${JobList} />`;
}

// The list of jobs: what starts each, how its last runs went, and what is wrong with job files.

const MOST = 200; // rows; GET /recent tells of as many jobs
const MEASURED = "last 200 runs"; // that GET /recent measures of each job, whenever they ended

function JobList() {
  const { rows, problem } = useLive("jobs", {}, (job) => job.name);
  const wrong = useFileProblems();
  return html`
    <${Page} title="Jobs" lead="What can be run: functions with @bell.job, the files in jobs/, and definitions, which are data.">
      <${Trouble} problem=${problem} />
      ${
        wrong && wrong.length > 0 &&
        html`<${Section} title="Files that could not be loaded">
          ${wrong.map((one) => html`<${FileProblem} key=${one.id} problem=${one} elsewhere=${false} />`)}
        <//>`
      }
      ${rows ? html`<${Listed} jobs=${[...rows.values()]} />` : !problem && html`<${Loading} />`}
    <//>
  `;
}

const FIRST = `# jobs/hello.py
schedule = "*/2 * * * * *"  # every 2 seconds


def run(ctx):
    return "Hello, world!"
`;

/** @param {{ jobs: Api.Job[] }} props */
function Listed({ jobs }) {
  const text = useLocation().query.get("q") ?? "";
  if (!jobs.length) {
    return html`<${Empty} code=${FIRST}>
      There are no jobs yet. Save this as <code>jobs/hello.py</code> in the project's folder, and it runs by itself;
      in a new folder, <code>workbell init</code> writes it for you.
    <//>`;
  }
  const found = jobs.filter((job) => fits(job, text)).sort((one, other) => (one.name < other.name ? -1 : 1));
  return html`
    <form class="filter" role="search" aria-label="Filter of jobs" onSubmit=${(event) => event.preventDefault()}>
      <${Field} label="Filter" value=${text} placeholder="name, queue, words, pattern" data-filter
        onChange=${(q) => setQuery(["jobs"], { q }, { replace: true })} />
    </form>
    ${found.length ? html`<${JobTable} jobs=${found} />` : html`<${Empty}>No job has “${text}” in it.<//>`}
    ${found.length > MOST && html`<p class="faint">${MOST} of ${found.length.toLocaleString("en")} jobs are shown; filter for the others.</p>`}
  `;
}

/**
 * @param {Api.Job} job
 * @param {string} text
 */
const fits = (job, text) =>
  [job.name, job.description, job.queue, job.file_path ?? "", ...job.on].join("\n").toLowerCase().includes(text.trim().toLowerCase());

/** @param {{ jobs: Api.Job[] }} props */
function JobTable({ jobs }) {
  const { data: recent } = usePoll("/recent", { limit: 20 }, 4);
  const { data: upcoming } = usePoll("/upcoming", { limit: 100 }, 10);
  const running = useRunning();
  const byJob = new Map((recent?.items ?? []).map((one) => [one.job, one]));
  /** @param {Api.Job} job */
  const ticksOf = (job) => (upcoming?.items ?? []).filter((one) => one.job === job.name);
  /** @type {Column<Api.Job>[]} */
  const columns = [
    { name: "Job", classes: "job-name", by: (job) => job.name, cell: (job) => html`<${Named} job=${job} />` },
    { name: "Queue", by: (job) => job.queue, cell: (job) => job.queue },
    { name: "Starts", classes: "job-starts", cell: (job) => html`<${Starts} job=${job} ticks=${ticksOf(job)} />` },
    { name: "Last runs", cell: (job) => byJob.has(job.name) && html`<${StripLink} job=${job.name} runs=${byJob.get(job.name)?.runs} running=${running.get(job.name)} />` },
    {
      name: "Running",
      classes: "number",
      by: (job) => running.get(job.name) ?? 0,
      cell: (job) => running.has(job.name) && html`<${Link} to=${to(["runs"], { job: job.name, status: "running" })}>${running.get(job.name)?.toLocaleString("en")}<//>`,
    },
    { name: "Failed", note: MEASURED, classes: "number", by: (job) => failedShare(byJob.get(job.name)), cell: (job) => html`<${FailedShare} recent=${byJob.get(job.name)} />` },
    { name: "Median", note: MEASURED, classes: "number", by: (job) => byJob.get(job.name)?.p50, cell: (job) => spanText(byJob.get(job.name)?.p50) },
    { name: "95 %", note: MEASURED, classes: "number", by: (job) => byJob.get(job.name)?.p95, cell: (job) => spanText(byJob.get(job.name)?.p95) },
  ];
  return html`<${Table} caption="Jobs" columns=${columns} rows=${jobs} most=${MOST} keyOf=${(job) => job.name} rowLink />`;
}

/**
 * Of the last runs, the same that the durations are of; in percent.
 * @param {Api.Recent | undefined} recent
 */
const failedShare = (recent) => (recent?.count ? (100 * recent.failed) / recent.count : null);

/** @param {{ recent: Api.Recent | undefined }} props */
function FailedShare({ recent }) {
  if (!recent?.count) return html`<span class="faint">–</span>`;
  const { failed, count } = recent;
  return failed ? html`<span class="bad">${failed} of ${count}, ${shareText(failed, count)}</span>` : `none of ${count}`;
}

/** @param {{ job: Api.Job }} props */
function Named({ job }) {
  return html`<div>
    <${Link} to=${to(["jobs", job.name])} class="strong">${job.name}<//> <${JobMarks} job=${job} />
    ${job.description && html`<div class="faint">${job.description}</div>`}
  </div>`;
}
