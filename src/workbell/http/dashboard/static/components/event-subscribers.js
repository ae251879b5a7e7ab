// Subscribers of an event type: triggers and endpoints, with the patterns that match.
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { html } from "../ui.js";
import { Status } from "./status.js";
import { Table } from "./table.js";
import { DELIVERY } from "./trigger-add.js";

/**
 * In one sentence, for a type that is being typed; nothing while it is not one yet.
 * @param {{ type: string }} props
 */
export function MatchedBy({ type }) {
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
