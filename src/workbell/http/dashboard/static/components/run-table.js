// Runs as rows, with a box to choose each where something could be done with it.
import { Link, to } from "../router.js";
import { useMay } from "../session.js";
import { between, spanText, Time, useNow } from "../times.js";
import { html } from "../ui.js";
import { Progress } from "./progress.js";
import { Status, stateOf } from "./status.js";
import { Table } from "./table.js";
import { Inline } from "./value.js";

/** `choose` gets the new set of chosen ids; without it, there are no boxes. */
export function RunTable({ rows, chosen, choose, caption = "Runs" }) {
  const may = useMay("operate") && choose;
  const all = rows.length > 0 && rows.every((run) => chosen?.has(run.id));
  const toggle = (id) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    choose(next);
  };
  const columns = [
    may && {
      name: "Choose",
      look: "choose",
      head: html`<input type="checkbox" aria-label="Choose all on this page" checked=${all}
        onChange=${() => choose(all ? new Set() : new Set(rows.map((run) => run.id)))} />`,
      cell: (run) => html`<input type="checkbox" aria-label=${`Choose run ${run.id}`} checked=${chosen.has(run.id)} onChange=${() => toggle(run.id)} />`,
    },
    { name: "Status", look: "run-status", cell: (run) => html`<${Status} of=${stateOf(run)} /><${Retried} run=${run} />` },
    { name: "Job", look: "run-job", cell: (run) => html`<${Link} to=${to(["runs", run.id])} class="strong">${run.job}<//>` },
    { name: "Input or error", look: "wide run-input", cell: (run) => (run.progress && run.status === "running" ? html`<${Progress} progress=${run.progress} />` : html`<${Inline} value=${run.error && run.status === "failed" ? firstLine(run.error) : run.input} />`) },
    { name: "Attempt", look: "number run-try", cell: (run) => run.attempt || "" },
    { name: "Took", look: "number run-took", cell: (run) => html`<${Took} run=${run} />` },
    { name: "When", look: "when run-when", cell: (run) => html`<${When} run=${run} />` },
  ].filter(Boolean);
  return html`<${Table} class="runs" caption=${caption} columns=${columns} rows=${rows} />`;
}

/** What became of its retry. */
function Retried({ run }) {
  if (!run.retried_by) return null;
  return html`<span class="retried faint">↻ retried: <${Link} to=${to(["runs", run.retried_by.id])}>${run.retried_by.status}<//></span>`;
}

const firstLine = (text) => text.trim().split("\n")[0];

/** How long a run took, or is taking. */
export function Took({ run }) {
  if (run.status === "running" && run.started_at) return html`<${Since} at=${run.started_at} />`;
  return spanText(between(run.started_at, run.finished_at));
}

function Since({ at }) {
  const seconds = Math.max(0, Math.round((useNow() - new Date(at)) / 1000));
  return seconds < 60 ? `${seconds} s` : spanText(seconds);
}

/** The time that matters most: of its end, its start, or when it is due. */
export function When({ run }) {
  const at = run.finished_at ?? (run.status === "running" ? run.started_at : run.scheduled_for);
  return html`<${Time} at=${at} />`;
}
