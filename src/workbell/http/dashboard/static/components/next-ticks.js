// The ticks to come: by the schedule's own clock and by that of the page, with what a change of the clocks does to them.
import { useNow, Time, timeText } from "../times.js";
import { html } from "../ui.js";
import { Table } from "./table.js";

/**
 * `ticks` as previews tell them: {timezone, items, local, notes}.
 * @param {{ ticks: Api.Ticks, caption?: string }} props
 */
export function NextTicks({ ticks, caption = "Next runs" }) {
  const rows = ticks.items.map((at, index) => ({ at, local: ticks.local[index], note: ticks.notes[index] }));
  if (!rows.length) return html`<p class="faint">No run is to come.</p>`;
  /** @type {Column<{ at: string, local: string, note: string | null }>[]} */
  const columns = [
    { name: ticks.timezone, classes: "when", cell: (row) => html`<${Own} row=${row} zone=${ticks.timezone} />` },
    { name: "Your time", classes: "when", cell: (row) => html`<div class="stacked"><${Time} at=${row.at} /><span class="faint"><${Time} at=${row.at} ago /></span></div>` },
  ];
  return html`<${Table} caption=${caption} columns=${columns} rows=${rows} keyOf=${(row) => row.at} rowClass=${(row) => (row.note ? "clock-change" : "")} />`;
}

/**
 * By the schedule's own clock, with what a change of it does; as the server has written it, if the browser does not know the zone.
 * @param {{ row: { at: string, local: string, note: string | null }, zone: string }} props
 */
function Own({ row, zone }) {
  const now = new Date(useNow());
  let text = row.local;
  try {
    text = timeText(row.at, zone, now);
  } catch {
    // The server's zones may be newer than the browser's.
  }
  return html`<div class="stacked">
    <time dateTime=${row.local}>${text}</time>
    ${row.note && html`<span class="clock-note"><span aria-hidden="true">◑</span> ${row.note}</span>`}
  </div>`;
}
