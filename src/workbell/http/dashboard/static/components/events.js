// Events as rows, with how much each matched; who would hear a type of event; and emitting one by hand.
import { api, parse, pretty, Problem } from "../api.js";
import { usePoll } from "../live.js";
import { go, Link, to } from "../router.js";
import { Stamp, useZoneName } from "../times.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { Action, Dialog } from "./dialog.js";
import { Area, Field, SubmitFoot, useSubmit } from "./form.js";
import { Status } from "./status.js";
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

// How much events matched: asked for those that are shown, each once, and never with two requests at a time.

export const DELIVERY = "webhook-delivery"; // the job of Workbell's own that sends an event to an endpoint
const AT_ONCE = 50; // ids in one address
const MOST_KEPT = 2000;

/**
 * A Map of what GET /events/counts says, by event; it fills as answers come.
 * @param {string[]} ids
 */
export function useEventCounts(ids) {
  const known = useRef(/** @type {Map<string, Api.EventCount | null>} */ (new Map()));
  const [busy, setBusy] = useState(false);
  const missing = ids.filter((id) => !known.current.has(id)).slice(0, AT_ONCE);
  const words = missing.join(" ");
  useEffect(() => {
    if (busy || !words) return;
    setBusy(true);
    const asked = words.split(" ");
    api
      .get("/events/counts", { event: asked })
      .then(({ items }) => {
        if (known.current.size > MOST_KEPT) known.current.clear();
        for (const id of asked) known.current.set(id, null); // also those that are gone: they are not asked for again
        for (const item of items) known.current.set(item.event, item);
      })
      .catch(() => asked.forEach((id) => known.current.set(id, null)))
      .finally(() => setBusy(false));
  }, [words, busy]);
  return known.current;
}

// Telling a fact by hand, to see what it sets off.

/**
 * The button and its dialog; `like` is an event whose words are taken over.
 * @param {{ label?: string, like?: Api.Event }} props
 */
export function SendEvent({ label = "Send a test event", like }) {
  const [open, setOpen] = useState(false);
  return html`
    <${Action} label=${label} needs="enqueue" classes="primary" run=${async () => setOpen(true)} />
    ${open && html`<${Form} like=${like} close=${() => setOpen(false)} />`}
  `;
}

/** @param {{ like?: Api.Event, close: () => void }} props */
function Form({ like, close }) {
  const [type, setType] = useState(like?.type ?? "");
  const [data, setData] = useState(like ? pretty(like.data) : '{"id": 7}');
  const [subject, setSubject] = useState(like?.subject ?? "");
  const [key, setKey] = useState("");
  const { send, busy, problem } = useSubmit(async () => {
    const event = await api.post("/events", { type, data: read(data), subject: subject || null, key: key || null });
    close();
    go(to(["events", event.id]));
  });
  return html`
    <${Dialog} title="Send a test event" onClose=${close}>
      <form class="form" onSubmit=${send}>
        <p class="notice">It is a real event: jobs with a matching trigger start, and matching endpoints are sent it.</p>
        <${Field} label="Type" value=${type} onChange=${setType} placeholder="orders.placed" required maxlength="256"
          hint="Words with dots between them." />
        <${Area} label="Data" value=${data} onChange=${setData} rows=${5} hint="JSON, or nothing." />
        <div class="form-columns">
          <${Field} label="Subject" value=${subject} onChange=${setSubject} hint="What it is about, such as an id." />
          <${Field} label="Key" value=${key} onChange=${setKey} hint="Of events with one key there is one." />
        </div>
        <div aria-live="polite"><${MatchedBy} type=${type} /></div>
        <${SubmitFoot} label="Send it" busy=${busy} problem=${problem} close=${close} />
      </form>
    <//>
  `;
}

/** @param {string} text */
function read(text) {
  if (!text.trim()) return null;
  try {
    return parse(text);
  } catch (error) {
    throw new Problem(`Data: this is not JSON: ${error.message}`);
  }
}

// Subscribers of an event type: triggers and endpoints, with the patterns that match.

/**
 * In one sentence, for a type that is being typed; nothing while it is not one yet.
 * @param {{ type: string }} props
 */
function MatchedBy({ type }) {
  const { data } = usePoll(type ? "/events/match" : null, { type }, 0);
  if (!data) return null;
  if (!data.items.length) return html`<p class="faint">No trigger or endpoint matches it.</p>`;
  const names = data.items.slice(0, 5).map((one) => `${one.name}${one.enabled ? "" : " (disabled)"}`);
  const more = data.items.length > 5 ? ` and ${data.items.length - 5} more` : "";
  return html`<p class="faint">Matched by ${names.join(", ")}${more}.</p>`;
}

/**
 * As a table.
 * @param {{ items: Api.Subscriber[] }} props
 */
export function EventSubscribers({ items }) {
  /** @type {Column<Api.Subscriber>[]} */
  const columns = [
    { name: "Kind", cell: (one) => one.kind },
    { name: "Name", classes: "wide", cell: (one) => html`<${Link} to=${addressOf(one)}>${one.name}<//>` },
    { name: "Matches by", cell: (one) => html`<code class="patterns">${one.patterns.join(" ")}</code>` },
    { name: "State", cell: (one) => html`<${Status} of=${one.enabled ? "enabled" : "disabled"} />${one.reason && html` <span class="faint">${one.reason}</span>`}` },
    { name: "Starts", classes: "when", cell: (one) => (one.job ? html`<${Link} to=${to(one.job === DELIVERY ? ["webhooks"] : ["jobs", one.job])}>${one.job}<//>` : "a delivery") },
  ];
  return html`<${Table} caption="Matching triggers and endpoints" columns=${columns} rows=${items} />`;
}

/** @param {Api.Subscriber} one */
const addressOf = (one) => (one.kind === "endpoint" ? to(["webhooks", one.id]) : to(["events"], { view: "triggers" }));
