// What became of a schedule's ticks, newest first; the first page keeps up with the schedule.
import { part } from "../api.js";
import { usePoll } from "../poll.js";
import { Link, to, useLocation } from "../router.js";
import { Time } from "../times.js";
import { html, useEffect } from "../ui.js";
import { Empty, Loading, Trouble } from "./page.js";
import { Pager } from "./pager.js";
import { Status } from "./status.js";
import { Table } from "./table.js";

const PAGE = 25;
const STRETCH = 60; // seconds: while the window is closed, the row of the ticks outside it grows and the schedule stays

/** @param {{ schedule: Api.Schedule }} props */
export function TickLedger({ schedule }) {
  const before = useLocation().query.get("before");
  const { data, problem, reload } = usePoll(`/schedules/${part(schedule.name)}/ticks`, { before, limit: PAGE }, schedule.window && !before ? STRETCH : 0);
  const stands = `${schedule.last_scheduled_at} ${schedule.last_fire_at} ${schedule.last_run_id} ${schedule.updated_at}`;
  useEffect(() => {
    if (data && !before) reload();
  }, [stands]);
  if (!data) return problem ? html`<${Trouble} problem=${problem} />` : html`<${Loading} />`;
  if (!data.items.length) return html`<${Empty}>${before ? "There is nothing older." : "Nothing has been due yet."}<//>`;
  return html`
    <${Table} caption="History" columns=${COLUMNS} rows=${data.items} keyOf=${(tick) => tick.due} />
    <${Pager} next=${data.next} />
  `;
}

/** @type {Column<Api.Tick>[]} */
const COLUMNS = [
  { name: "Due", classes: "when", cell: (tick) => html`<${Due} tick=${tick} />` },
  { name: "Outcome", cell: (tick) => html`<${Status} of=${tick.outcome} />` },
  { name: "Ticks", classes: "number", cell: (tick) => tick.count.toLocaleString("en") },
  { name: "Reason", classes: "wide", cell: (tick) => tick.reason ?? "" },
  { name: "Run", cell: (tick) => tick.run && html`<${Link} to=${to(["runs", tick.run])} aria-label=${`The run of the tick due ${tick.due}`}>run<//>` },
];

/**
 * An instant, or a span of them that shared one fate.
 * @param {{ tick: Api.Tick }} props
 */
function Due({ tick }) {
  if (!tick.until) return html`<${Time} at=${tick.due} />`;
  return html`<div class="stacked"><${Time} at=${tick.due} /><span class="faint">until <${Time} at=${tick.until} /></span></div>`;
}
