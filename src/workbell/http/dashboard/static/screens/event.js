// One event: what it says, where it came from, what it matched and what came of that.
import { SystemMark } from "../components/event-table.js";
import { SendEvent } from "../components/event-send.js";
import { MatchTable } from "../components/match-table.js";
import { Facts, Loading, Page, Section, Trouble } from "../components/page.js";
import { Json } from "../components/value.js";
import { part } from "../api.js";
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { Time } from "../times.js";
import { html } from "../ui.js";

/** @param {{ id: string }} props */
export function EventPage({ id }) {
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
