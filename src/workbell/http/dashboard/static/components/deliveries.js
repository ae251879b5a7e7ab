// Deliveries to an endpoint: their list, one of them with every attempt, and sending it again.
import { api, part } from "../api.js";
import { usePoll } from "../live.js";
import { Link, setQuery, to, useLocation } from "../router.js";
import { between, spanText, Stamp, Time, useZoneName } from "../times.js";
import { html } from "../ui.js";
import { Action, Dialog } from "./dialog.js";
import { useEventCounts } from "./events.js";
import { Choice } from "./form.js";
import { Empty, Facts, Loading, Pager, Section, Trouble } from "./page.js";
import { Status } from "./status.js";
import { Settled, Table } from "./table.js";
import { Block } from "./value.js";

// Deliveries to an endpoint, sent and still to be sent, newest first; each can be opened, and sent again.

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

// One delivery, opened: every try with what the receiver answered.

/** @param {{ id: string, endpoint: Api.Endpoint, close: () => void, done: Reload }} props */
function DeliveryDialog({ id, endpoint, close, done }) {
  const { data: run, problem } = usePoll(`/runs/${part(id)}`, {}, 1);
  const { data: tries } = usePoll(`/webhooks/deliveries/${part(id)}/attempts`, {}, 1);
  const again = async () => {
    close();
    await done();
  };
  return html`
    <${Dialog} title="Delivery" onClose=${close} wide>
      <${Trouble} problem=${problem} />
      ${
        run && tries
          ? html`
              <${Facts} facts=${factsOf(run)} />
              ${tries.items.length === 0 && html`<p class="faint">There was no attempt yet; a worker makes it.</p>`}
              <ol class="tries">${[...tries.items].reverse().map((one) => html`<${Try} key=${one.number} one=${one} />`)}</ol>
              <div class="dialog-foot">
                <${Resend} endpoint=${endpoint} delivery=${run} done=${again} classes="primary" />
                <button type="button" onClick=${close}>Close</button>
              </div>
            `
          : !problem && html`<${Loading} />`
      }
    <//>
  `;
}

/** @param {Api.Run} run */
const factsOf = (run) => [
  ["Status", html`<${DeliveryStatus} delivery=${{ status: run.status, attempts: run.attempt }} />`],
  ["Event", run.event && html`<${Link} to=${to(["events", run.event])}>${run.event}<//>`],
  ["Run", html`<${Link} to=${to(["runs", run.id])}>${run.id}<//>`],
  ["Created", html`<${Time} at=${run.created_at} />`],
  ["Next attempt", run.status === "scheduled" && html`<${Time} at=${run.scheduled_for} />`],
  ["Why canceled", run.status === "canceled" && run.reason],
];

/** @param {{ one: Api.Attempt }} props */
function Try({ one }) {
  const answer = /** @type {{ duration_ms?: number, status_code?: number, answer?: string }} */ (one.result ?? {});
  const took = answer.duration_ms ? answer.duration_ms / 1000 : between(one.started_at, one.finished_at);
  return html`<li>
    <h3>Attempt ${one.number} <${Status} of=${one.status} says=${one.status === "succeeded" ? "delivered" : undefined} /></h3>
    <p class="faint"><${Time} at=${one.started_at} />${one.finished_at && html`, took ${spanText(took)}`}${one.worker && html`, by <code>${one.worker}</code>`}</p>
    ${one.error && html`<p class="wrong">${one.error}</p>`}
    ${answer.status_code && !one.error && html`<p>It answered <strong>${answer.status_code}</strong>.</p>`}
    ${answer.answer && html`<${Block} text=${answer.answer} name=${`Answer to attempt ${one.number}`} />`}
  </li>`;
}

// The status of a delivery, in words that fit one.

/** @type {{ [status: string]: string }} */
const SAID = { succeeded: "delivered", scheduled: "to be retried" };

/**
 * In the words of deliveries: one that has failed a try, and will be tried again, is scheduled.
 * @param {{ delivery: Pick<Api.Delivery, "status" | "attempts"> }} props
 */
function DeliveryStatus({ delivery }) {
  const says = delivery.status === "scheduled" && !delivery.attempts ? "scheduled" : SAID[delivery.status];
  return html`<${Status} of=${delivery.status} says=${says} />`;
}

// Sending one event to an endpoint once more.

const ENDED = new Set(["succeeded", "failed", "canceled"]);

/**
 * Sends the event once more. One that still waits for its next try is canceled first, lest it be sent twice.
 * @param {{ endpoint: Api.Endpoint, delivery: Pick<Api.Delivery, "id" | "event" | "status">, done: Reload, classes?: string }} props
 */
function Resend({ endpoint, delivery, done, classes = "" }) {
  const ended = ENDED.has(delivery.status);
  if (!delivery.event || !endpoint.enabled || !(ended || delivery.status === "scheduled")) return null;
  const run = async () => {
    if (!ended) await api.post(`/runs/${part(delivery.id)}/cancel`, { reason: "sent again by hand" });
    const { items } = await api.post(`/webhooks/${part(endpoint.id)}/replay`, { event: delivery.event });
    await done?.();
    return items.length ? "It is sent again, as a new delivery." : "Somebody else has just sent it again.";
  };
  const twice = { title: "Send it again?", text: "It was delivered already: the receiver gets it a second time.", action: "Send again", calm: true };
  return html`<${Action} label=${ended ? "Resend" : "Send now"} classes=${classes} ask=${delivery.status === "succeeded" ? twice : undefined} run=${run} />`;
}
