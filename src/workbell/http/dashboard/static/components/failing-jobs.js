// Jobs of which runs failed or had to be tried again, most failures first.
import { Link, to } from "../router.js";
import { html } from "../ui.js";
import { Empty } from "./page.js";
import { Table } from "./table.js";

const SHOWN = 8;

/**
 * A share in percent: 0 and 100 are said only of none and all.
 * @param {number} part
 * @param {number} whole
 */
export function shareText(part, whole) {
  const share = Math.round((100 * part) / Math.max(1, whole));
  if (share === 0 && part > 0) return "< 1 %";
  return share === 100 && part < whole ? "> 99 %" : `${share} %`;
}

/**
 * `jobs` as GET /tallies tells them.
 * @param {{ jobs: Api.Tallies["jobs"] }} props
 */
export function FailingJobs({ jobs }) {
  const failing = jobs.filter((job) => job.failed || job.retried).slice(0, SHOWN);
  if (!failing.length) return html`<${Empty}>Nothing failed in this time.<//>`;
  return html`<${Table} caption="Failing jobs" rows=${failing} keyOf=${(job) => job.job} columns=${/** @type {Column<Api.Tallies["jobs"][number]>[]} */ ([
    { name: "Job", cell: (job) => html`<${Link} class="strong" to=${to(["jobs", job.job])}>${job.job}<//>` },
    { name: "Failed", classes: "number", cell: (job) => html`<${Link} to=${to(["runs"], { job: job.job, status: "failed" })}>${job.failed.toLocaleString("en")}<//>` },
    { name: "Share", classes: "number", cell: (job) => shareText(job.failed, job.succeeded + job.failed) },
    { name: "Retried", classes: "number", cell: (job) => job.retried.toLocaleString("en") },
  ])} />`;
}
