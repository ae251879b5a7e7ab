// Runs as rows, with a box to choose each where something could be done with it.
import { Link, to } from "../router.js";
import { useMay } from "../session.js";
import { between, spanText, Stamp, Time, useNow, useZoneName } from "../times.js";
import { html } from "../ui.js";
import { RunSummary, useNamesOf } from "./run-summary.js";
import { Status, stateOf } from "./status.js";
import { Table } from "./table.js";

const SHORT = 8; // letters of an id, from its end, as the terminal shows them

/**
 * `choose` gets the new set of chosen ids; without it, there are no boxes.
 * @param {{ rows: Api.Run[], chosen?: Set<string>, choose?: (chosen: Set<string>) => void, caption?: string }} props
 */
export function RunTable({ rows, chosen, choose, caption = "Runs" }) {
  const may = useMay("operate");
  const names = useNamesOf(rows);
  const zone = useZoneName();
  const all = rows.length > 0 && rows.every((run) => chosen?.has(run.id));
  /** @param {string} id */
  const toggle = (id) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    choose?.(next);
  };
  /** @type {Column<Api.Run>[]} */
  const columns = [
    ...(may && choose ? [{
      name: "Choose",
      classes: "choose",
      head: html`<input type="checkbox" aria-label="Choose all on this page" checked=${all}
        onChange=${() => choose(all ? new Set() : new Set(rows.map((run) => run.id)))} />`,
      cell: (/** @type {Api.Run} */ run) => html`<input type="checkbox" aria-label=${`Choose run ${run.id}`} checked=${chosen?.has(run.id)} onChange=${() => toggle(run.id)} />`,
    }] : []),
    { name: "Status", classes: "run-status", cell: (run) => html`<${Status} of=${stateOf(run)} /><${Retried} run=${run} />` },
    { name: "Run", classes: "run-job", cell: (run) => html`<${Link} to=${to(["runs", run.id])} class="strong">${run.job} <code class="run-id">${run.id.slice(-SHORT)}</code><//>` },
    { name: "Input and result, or error", classes: "wide run-input", cell: (run) => html`${run.tag && html`<span class="mark" title="Tag">${run.tag}</span> `}<${RunSummary} run=${run} names=${names} />` },
    { name: "Queue", classes: "run-queue", cell: (run) => run.queue },
    { name: "Attempt", classes: "number run-try", cell: (run) => run.attempt || "–" },
    { name: "Took", classes: "number run-took", cell: (run) => html`<${Took} run=${run} />` },
    { name: `Created, ${zone}`, classes: "when run-when", cell: (run) => html`<${Stamp} at=${run.created_at} />` },
  ];
  return html`<${Table} class="runs" caption=${caption} columns=${columns} rows=${rows} rowLink />`;
}

/**
 * What became of its retry.
 * @param {{ run: Api.Run }} props
 */
function Retried({ run }) {
  if (!run.retried_by) return null;
  return html`<span class="retried faint">↻ retried: <${Link} to=${to(["runs", run.retried_by.id])}>${run.retried_by.status}<//></span>`;
}

/**
 * How long a run took, or is taking; of one that has its time before it, when it is due.
 * @param {{ run: Api.Run }} props
 */
export function Took({ run }) {
  if (run.status === "scheduled") return html`due <${Time} at=${run.scheduled_for} ago />`;
  if (run.status === "running" && run.started_at) return html`<${Since} at=${run.started_at} />`;
  return spanText(between(run.started_at, run.finished_at));
}

/** @param {{ at: string }} props */
function Since({ at }) {
  const seconds = Math.max(0, Math.round((useNow() - Date.parse(at)) / 1000));
  return seconds < 60 ? `${seconds} s` : spanText(seconds);
}
