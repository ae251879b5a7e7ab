// Events: the stream of them, the triggers, the tester of patterns; and one event with what it matched.
import { part } from "../api.js";
import { EventTable, SendEvent, SystemMark } from "../components/events.js";
import { Typed } from "../components/form.js";
import { Empty, Facts, Loading, Page, Pager, Section, Trouble } from "../components/page.js";
import { Status } from "../components/status.js";
import { Settled, Table } from "../components/table.js";
import { announce } from "../components/toasts.js";
import { Json } from "../components/value.js";
import { useLive, usePoll } from "../live.js";
import { go, Link, to, useLocation } from "../router.js";
import { Time } from "../times.js";
import { html, useEffect } from "../ui.js";
import { EventTester } from "./event-tester.js";
import { Triggers } from "./triggers.js";

const VIEWS = [
  { view: "", name: "Stream", show: EventStream },
  { view: "triggers", name: "Triggers", show: Triggers },
  { view: "tester", name: "Pattern tester", show: EventTester },
];

/** @param {{ parts: string[] }} props */
export function Events({ parts }) {
  const { query } = useLocation();
  if (parts.length) return html`<${EventPage} id=${parts[0]} />`;
  const current = VIEWS.find((one) => one.view === (query.get("view") ?? "")) ?? VIEWS[0];
  return html`
    <${Page} title="Events" lead="Everything emitted, and what it started." actions=${html`<${SendEvent} />`}>
      <nav class="tabs" aria-label="Views of events">
        ${VIEWS.map(
          (one) => html`<${Link} key=${one.view} to=${to(["events"], { view: one.view })} aria-current=${one === current ? "page" : undefined}>${one.name}<//>`,
        )}
      </nav>
      <${current.show} />
    <//>
  `;
}

// The stream of events: its pattern is in the address, its first page is live, and no row moves under the pointer.

const PAGE = 100; // as many as the topic has
/**
 * @param {Api.Event} one
 * @param {Api.Event} other
 */
const newestFirst = (one, other) => (one.id < other.id ? 1 : -1);

function EventStream() {
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

// The filter of the stream: one pattern, which stands in the address.

/** All but Workbell's own: a star at the beginning does not stand for those. */
const OURS = "*";

/** @param {{ pattern: string }} props */
function EventFilter({ pattern }) {
  /** @param {string} type */
  const set = (type) => go(to(["events"], { type }));
  return html`
    <form class="filter" role="search" aria-label="Filter of events" onSubmit=${(event) => event.preventDefault()}>
      <div class="filter-row">
        <${Typed} label="Type or pattern" value=${pattern} placeholder="orders.* or orders.**" onDone=${set} data-filter />
        <div class="chips" role="group" aria-label="Whose events">
          <button type="button" class="chip" aria-pressed=${pattern === ""} onClick=${() => set("")}>all</button>
          <button type="button" class="chip" aria-pressed=${pattern === OURS} onClick=${() => set(OURS)}>without Workbell's own</button>
        </div>
        ${
          pattern &&
          pattern !== OURS &&
          html`<${Link} class="button" to=${to(["events"], { view: "tester", pattern })}>Try this pattern<//>`
        }
      </div>
    </form>
  `;
}

// One event: what it says, where it came from, what it matched and what came of that.

/** @param {{ id: string }} props */
function EventPage({ id }) {
  const { data: event, problem } = usePoll(`/events/${part(id)}`, {}, 1);
  if (!event) return html`<${Page} title="Event"><${Trouble} problem=${problem} />${!problem && html`<${Loading} />`}<//>`;
  const heading = html`${event.type}${event.system && html` <${SystemMark} />`}`;
  const actions = !event.system && html`<${SendEvent} label="Send one like it" like=${event} />`;
  return html`
    <${Page} title=${event.type} heading=${heading} lead=${html`<${Link} to=${to(["events"])}>Events<//> · <code>${event.id}</code>`} actions=${actions}>
      <${Trouble} problem=${problem} />
      <${Section} title="Details">
        <${Facts} facts=${factsOf(event)} />
        ${event.fanned_out_at === null && html`<p class="notice">Not matched against triggers and endpoints yet; a scheduler does that.</p>`}
      <//>
      <${Section} title="What it matched"><${MatchTable} event=${event} /><//>
      <${Section} title="Data"><${Json} value=${event.data} name="Data of the event" /><//>
      <details class="as-json"><summary>The whole event as JSON</summary><${Json} value=${event} name="The event as JSON" /></details>
    <//>
  `;
}

/** @param {Api.Event} event */
const factsOf = (event) => [
  ["Time", html`<${Time} at=${event.time} />`],
  ["Source", event.source],
  ["Subject", event.subject],
  ["Key", event.key],
  [event.system ? "About run" : "Emitted by", event.cause && html`<${Link} to=${to(["runs", event.cause])}>${event.cause}<//>`],
  ["Depth", `${event.depth} ${event.depth === 1 ? "event" : "events"} behind it`],
  ["Tenant", event.tenant],
  ["Stored", html`<${Time} at=${event.created_at} />`],
  ["Delivered to triggers", event.fanned_out_at && html`<${Time} at=${event.fanned_out_at} />`],
];

// What an event matched, and what came of each: a run with its status of now, or why there is none.

/** @param {{ event: Api.Event }} props */
function MatchTable({ event }) {
  const after = useLocation().query.get("after");
  const { data, problem } = usePoll(event.fanned_out_at ? `/events/${part(event.id)}/matches` : null, { after, limit: 100 }, 2);
  const { rows: runs } = useLive("runs", { event: event.id, limit: 200 });
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!event.fanned_out_at) return html`<p class="faint">Nothing yet.</p>`;
  if (!data) return html`<${Loading} />`;
  if (!data.items.length && !after) return html`<${Unheard} event=${event} />`;
  /** @type {Column<Api.Match>[]} */
  const columns = [
    { name: "Kind", cell: (match) => match.kind ?? "removed since" },
    { name: "Name", classes: "wide", cell: (match) => html`<${Subscriber} match=${match} />` },
    { name: "Outcome", cell: (match) => html`<${Outcome} match=${match} run=${runs?.get(match.run ?? "")} />` },
    { name: "Run", classes: "when", cell: (match) => html`<${RunOf} match=${match} />` },
  ];
  return html`
    <${Table} caption="What the event matched" columns=${columns} rows=${data.items} keyOf=${(match) => match.subscriber} />
    <${Pager} next=${data.next} name="after" first="« First" further="More »" />
  `;
}

/** @param {{ event: Api.Event }} props */
function Unheard({ event }) {
  const first = event.type.split(".")[0];
  return html`<${Empty} code=${`workbell triggers add NAME --pattern '${first}.*' --job JOB`}>
    Nothing matches <code>${event.type}</code>: no trigger or endpoint had a pattern for it.
  <//>`;
}

/** @param {{ match: Api.Match }} props */
function Subscriber({ match }) {
  if (match.kind === "endpoint") return html`<${Link} to=${to(["webhooks", match.subscriber])}>${match.name}<//>`;
  if (match.kind === "trigger") return html`<${Link} to=${to(["events"], { view: "triggers", trigger: match.subscriber })}>${match.name}<//>`;
  return html`<code>${match.subscriber}</code>`;
}

/** @type {{ [outcome: string]: string[] }} */
const SAID = { disabled: ["disabled", "it was disabled"], too_deep: ["warning", "the chain of events is too long"] };

/** @param {{ match: Api.Match, run: Api.Run | undefined }} props */
function Outcome({ match, run }) {
  if (run) return html`<${Status} of=${run.status} />`;
  const [state, says] = SAID[match.outcome] ?? ["ok", match.outcome];
  return html`<div class="roomy"><${Status} of=${state} says=${says} />${match.reason && html`<p class="faint">${match.reason}</p>`}</div>`;
}

/**
 * A delivery is shown with its endpoint, where its answers are.
 * @param {{ match: Api.Match }} props
 */
function RunOf({ match }) {
  if (!match.run) return "";
  const address = match.kind === "endpoint" ? to(["webhooks", match.subscriber], { delivery: match.run }) : to(["runs", match.run]);
  return html`<${Link} to=${address}>${match.kind === "endpoint" ? "delivery" : "run"} …${match.run.slice(-6)}<//>`;
}
