// Events as rows, with how much each matched.
import { Link, to } from "../router.js";
import { Stamp, useZoneName } from "../times.js";
import { html } from "../ui.js";
import { useEventCounts } from "./event-counts.js";
import { Table } from "./table.js";
import { Inline } from "./value.js";

/** @param {{ rows: Api.Event[], caption?: string }} props */
export function EventTable({ rows, caption = "Events" }) {
  const counts = useEventCounts(rows.filter((event) => event.fanned_out_at).map((event) => event.id));
  const zone = useZoneName();
  /** @type {Column<Api.Event>[]} */
  const columns = [
    { name: `Time, ${zone}`, classes: "when", cell: (event) => html`<${Stamp} at=${event.time} />` },
    { name: "Type", cell: (event) => html`<${EventType} event=${event} />` },
    { name: "Subject", classes: "event-short", cell: (event) => event.subject && html`<div class="roomy"><${Inline} value=${event.subject} /></div>` },
    { name: "Data", classes: "wide", cell: (event) => event.data !== null && html`<${Inline} value=${event.data} />` },
    { name: "Source", classes: "event-short", cell: (event) => html`<${Inline} value=${event.source} />` },
    { name: "Matched", classes: "when", cell: (event) => html`<${Matched} event=${event} count=${counts.get(event.id)} />` },
  ];
  return html`<${Table} class="events" caption=${caption} columns=${columns} rows=${rows} rowLink rowClass=${(event) => (event.system ? "system-event" : "")} />`;
}

/**
 * The type as a link to the event; Workbell's own are told apart by a word.
 * @param {{ event: Api.Event }} props
 */
function EventType({ event }) {
  return html`<span class="event-type">
    <${Link} to=${to(["events", event.id])} class="strong">${event.type}<//>${event.system && html` <${SystemMark} />`}
  </span>`;
}

/** That Workbell itself told it. */
export const SystemMark = () => html`<span class="mark" title="Emitted by Workbell itself">system</span>`;

/** @param {{ event: Api.Event, count: Api.EventCount | null | undefined }} props */
function Matched({ event, count }) {
  if (!event.fanned_out_at) return html`<span class="faint" title="Not matched against triggers and endpoints yet">not yet</span>`;
  if (count === undefined) return html`<span class="faint">…</span>`;
  if (count === null) return html`<span class="faint">–</span>`;
  if (!count.count) return html`<span class="faint">nothing</span>`;
  const left = count.count - count.started;
  return html`${count.count}${count.capped ? "+" : ""}${left > 0 && html` <span class="faint">(${left} not started)</span>`}`;
}
