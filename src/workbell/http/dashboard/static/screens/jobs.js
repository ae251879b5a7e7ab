// Jobs, live; and one of them, if the address names it.
import { html } from "../ui.js";
import { Job } from "./job.js";
import { JobList } from "./job-list.js";

/** @param {{ parts: string[] }} props */
export function Jobs({ parts }) {
  return parts.length ? html`<${Job} name=${parts[0]} />` : html`<${JobList} />`;
}
