// Jobs of which runs failed or had to be tried again, most failures first.
import { Link, to } from "../router.js";
import { html } from "../ui.js";
import { Empty } from "./page.js";
import { Table } from "./table.js";

const SHOWN = 8;

/**
 * `jobs` as GET /tallies tells them.
 * @param {{ jobs: Api.Tallies["jobs"] }} props
 */
export function FailingJobs({ jobs }) {
  const failing = jobs.filter((job) => job.failed || job.retried).slice(0, SHOWN);
  if (!failing.length) return html`<${Empty}>Nothing failed in this time.<//>`;
  /** @param {Api.Tallies["jobs"][number]} job */
  const share = (job) => Math.round((100 * job.failed) / Math.max(1, job.succeeded + job.failed));
  return html`<${Table} caption="Failing jobs" rows=${failing} keyOf=${(job) => job.job} columns=${/** @type {Column<Api.Tallies["jobs"][number]>[]} */ ([
    { name: "Job", cell: (job) => html`<${Link} class="strong" to=${to(["jobs", job.job])}>${job.job}<//>` },
    { name: "Failed", classes: "number", cell: (job) => html`<${Link} to=${to(["runs"], { job: job.job, status: "failed" })}>${job.failed.toLocaleString("en")}<//>` },
    { name: "Share", classes: "number", cell: (job) => `${share(job)} %` },
    { name: "Retried", classes: "number", cell: (job) => job.retried.toLocaleString("en") },
  ])} />`;
}
