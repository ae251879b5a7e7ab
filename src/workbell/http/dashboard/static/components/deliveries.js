// Deliveries to an endpoint, sent and still to be sent, newest first; each can be opened, and sent again.
import { part } from "../api.js";
import { usePoll } from "../poll.js";
import { Link, to, useLocation } from "../router.js";
import { spanText, Stamp, Time, useZoneName } from "../times.js";
import { html } from "../ui.js";
import { DeliveryDialog } from "./delivery.js";
import { Resend } from "./delivery-resend.js";
import { DeliveryStatus } from "./delivery-status.js";
import { useEventCounts } from "./event-counts.js";
import { Choice } from "./field.js";
import { Empty, Loading, Section, Trouble } from "./page.js";
import { Pager, setQuery } from "./pager.js";
import { Settled } from "./settled.js";
import { Table } from "./table.js";

const STATUSES = [["", "every status"], ["succeeded", "delivered"], ["scheduled", "to be retried"], "queued", "running", "failed", "canceled"];

/** @param {{ endpoint: Api.Endpoint }} props */
export function Deliveries({ endpoint }) {
  const { query } = useLocation();
  const status = query.get("status") ?? "";
  const before = query.get("before");
  const { data, problem, reload } = usePoll(`/webhooks/${part(endpoint.id)}/deliveries`, { status, before, limit: 50 }, before ? 0 : 1);
  const opened = query.get("delivery");
  /** @param {Api.Words} changes */
  const set = (changes) => setQuery(["webhooks", endpoint.id], changes, { replace: true });
  const filter = html`<${Choice} label="Status" value=${status} onChange=${(next) => set({ status: next, before: "" })} options=${STATUSES} />`;
  return html`
    <${Section} title="Deliveries" class="deliveries" actions=${filter}>
      <${Trouble} problem=${problem} />
      ${data ? html`<${Listed} endpoint=${endpoint} data=${data} status=${status} reload=${reload} open=${(id) => set({ delivery: id })} />` : !problem && html`<${Loading} />`}
    <//>
    ${opened && html`<${DeliveryDialog} key=${opened} id=${opened} endpoint=${endpoint} close=${() => set({ delivery: "" })} done=${reload} />`}
  `;
}

/** @param {{ endpoint: Api.Endpoint, data: Api.Answer<"GET", `/webhooks/${string}/deliveries`>, status: string, reload: Reload, open: (id: string) => void }} props */
function Listed({ endpoint, data, status, reload, open }) {
  const events = useEventCounts(data.items.flatMap((one) => one.event ?? []));
  const zone = useZoneName();
  /** @type {Column<Api.Delivery>[]} */
  const columns = [
    { name: "Status", cell: (one) => html`<${DeliveryStatus} delivery=${one} />` },
    { name: "Event", classes: "wide", cell: (one) => html`<${EventOf} id=${one.event} known=${events.get(one.event ?? "")} />` },
    { name: "Answer", cell: (one) => html`<${Answered} delivery=${one} />` },
    { name: "Attempts", classes: "number", cell: (one) => one.attempts },
    { name: `Created, ${zone}`, classes: "when", cell: (one) => html`<${Stamp} at=${one.created_at} />` },
    { name: "Next attempt", classes: "when", cell: (one) => one.next_attempt_at && html`<${Time} at=${one.next_attempt_at} ago />` },
    {
      name: "Actions",
      hidden: true,
      cell: (one) => html`<div class="actions">
        <button type="button" class="small" aria-haspopup="dialog" onClick=${() => open(one.id)}>Open</button>
        <${Resend} endpoint=${endpoint} delivery=${one} done=${reload} classes="small" />
      </div>`,
    },
  ];
  return html`
    <${Settled} found=${data.items} empty=${html`<${Nothing} endpoint=${endpoint} status=${status} />`}>
      ${(rows) => html`<${Table} caption="Deliveries" columns=${columns} rows=${rows} />`}
    <//>
    <${Pager} next=${data.next} />
  `;
}

/** @param {{ endpoint: Api.Endpoint, status: string }} props */
function Nothing({ endpoint, status }) {
  if (status) return html`<${Empty}>No delivery has this status.<//>`;
  const type = endpoint.patterns[0].replace(/\*+/g, "placed");
  return html`<${Empty} code=${`workbell events emit ${type} '{"id": 7}'`}>Nothing was sent yet. Emit an event that it is sent:<//>`;
}

/** @param {{ id: string | null, known: Api.EventCount | null | undefined }} props */
function EventOf({ id, known }) {
  if (!id) return html`<span class="faint">–</span>`;
  return html`<${Link} to=${to(["events", id])}>${known?.type ?? `…${id.slice(-6)}`}<//>`;
}

/** @param {{ delivery: Api.Delivery }} props */
function Answered({ delivery }) {
  if (delivery.status_code) return html`<span class="nowrap">${delivery.status_code} <span class="faint">in ${spanText(delivery.duration_ms && delivery.duration_ms / 1000)}</span></span>`;
  return delivery.error ? html`<span class="faint delivery-error">${delivery.error}</span>` : "";
}
