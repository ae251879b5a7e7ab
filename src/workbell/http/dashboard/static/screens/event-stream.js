// The stream of events: its pattern is in the address, its first page is live, and no row moves under the pointer.
import { EventFilter } from "../components/event-filter.js";
import { EventTable } from "../components/event-table.js";
import { Empty, Loading, Trouble } from "../components/page.js";
import { Pager } from "../components/pager.js";
import { Settled } from "../components/settled.js";
import { announce } from "../components/toasts.js";
import { useLive } from "../live.js";
import { usePoll } from "../poll.js";
import { useLocation } from "../router.js";
import { html, useEffect } from "../ui.js";

const PAGE = 100; // as many as the topic has
/**
 * @param {Api.Event} one
 * @param {Api.Event} other
 */
const newestFirst = (one, other) => (one.id < other.id ? 1 : -1);

export function EventStream() {
  const { query } = useLocation();
  const pattern = query.get("type") ?? "";
  const before = query.get("before");
  return html`
    <${EventFilter} pattern=${pattern} />
    ${before ? html`<${Older} pattern=${pattern} before=${before} />` : html`<${Newest} pattern=${pattern} />`}
  `;
}

/**
 * The first page, over the WebSocket.
 * @param {{ pattern: string }} props
 */
function Newest({ pattern }) {
  const { rows, next, problem } = useLive("events", pattern ? { pattern } : {});
  const found = rows && [...rows.values()].sort(newestFirst);
  const known = found !== null;
  useEffect(() => {
    if (known) announce(`${found.length} events are shown.`); // for this pattern; not whenever one comes
  }, [known]);
  if (!known) return problem ? html`<${Trouble} problem=${problem} />` : html`<${Loading} />`;
  return html`<${Trouble} problem=${problem} /><${Listed} found=${found} pattern=${pattern} next=${next} />`;
}

/**
 * A later page, which stands still.
 * @param {{ pattern: string, before: string }} props
 */
function Older({ pattern, before }) {
  const { data, problem } = usePoll("/events", { type: pattern, before, limit: PAGE }, 0);
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  return html`<${Listed} found=${data.items} pattern=${pattern} next=${data.next} />`;
}

/** @param {{ found: Api.Event[], pattern: string, next: string | null | undefined }} props */
function Listed({ found, pattern, next }) {
  return html`
    <${Settled} found=${found} empty=${html`<${Nothing} pattern=${pattern} />`}>${(rows) => html`<${EventTable} rows=${rows} />`}<//>
    <${Pager} next=${next} />
  `;
}

/** @param {{ pattern: string }} props */
function Nothing({ pattern }) {
  if (pattern) return html`<${Empty}>No event matches <code>${pattern}</code> among the last 10,000.<//>`;
  return html`
    <${Empty} code=${`workbell events emit orders.placed '{"id": 7}'`}>Nothing has been emitted yet. Emit an event:<//>
    <${Empty} code=${'@bell.on("orders.*")\ndef placed(event: Event) -> None: ...'}>And start a job on it:<//>
  `;
}
