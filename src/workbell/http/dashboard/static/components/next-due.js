// The next ticks of all schedules.
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { Time } from "../times.js";
import { html } from "../ui.js";
import { Empty, Loading, Trouble } from "./page.js";
import { Table } from "./table.js";

const CODE = '@bell.job(cron="0 3 * * *")\ndef nightly() -> None: ...';

export function NextTicks() {
  const { data, problem } = usePoll("/upcoming", { limit: 8 });
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  if (!data.items.length) return html`<${Empty} code=${CODE}>No schedule has a next run. A job gets one where it is declared:<//>`;
  return html`<${Table} caption="Next runs" rows=${data.items} keyOf=${(tick) => tick.schedule} columns=${/** @type {Column<Api.Upcoming>[]} */ ([
    { name: "Schedule", cell: (tick) => html`<${Link} class="strong" to=${to(["schedules", tick.schedule])}>${tick.schedule}<//>` },
    { name: "In words", classes: "wide", cell: (tick) => tick.in_words },
    { name: "Due", classes: "when", cell: (tick) => html`<${Time} at=${tick.due} ago /><br /><span class="faint"><${Time} at=${tick.due} /></span>` },
  ])} />`;
}
