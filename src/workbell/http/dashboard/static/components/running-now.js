// What runs at this moment, with its progress.
import { Link, to } from "../router.js";
import { html } from "../ui.js";
import { Empty, Loading, Trouble } from "./page.js";
import { Progress } from "./progress.js";
import { Took } from "./run-table.js";
import { Table } from "./table.js";

const SHOWN = 10;

/**
 * `running` as `useLive` tells it: the same runs that are counted above.
 * @param {{ running: Followed<Api.Run> }} props
 */
export function RunningNow({ running }) {
  const { rows, problem } = running;
  if (!rows) return problem ? html`<${Trouble} problem=${problem} />` : html`<${Loading} />`;
  if (!rows.size) return html`<${Empty}>Nothing is running.<//>`;
  const oldest = [...rows.values()].sort((one, other) => ((one.started_at ?? "") < (other.started_at ?? "") ? -1 : 1)).slice(0, SHOWN);
  return html`
    <${Table} caption="Running now" rows=${oldest} columns=${/** @type {Column<Api.Run>[]} */ ([
      { name: "Job", cell: (run) => html`<${Link} class="strong" to=${to(["runs", run.id])}>${run.job}<//>` },
      { name: "Progress", classes: "wide", cell: (run) => html`<${Progress} progress=${run.progress} />` },
      { name: "For", classes: "number", cell: (run) => html`<${Took} run=${run} />` },
    ])} />
    ${rows.size > SHOWN && html`<p><${Link} to=${to(["runs"], { status: "running" })}>All running<//></p>`}
  `;
}
