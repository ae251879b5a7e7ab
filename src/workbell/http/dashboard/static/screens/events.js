// Events: the stream of them, the triggers, the tester of patterns; and one event, if the address names it.
import { Page } from "../components/page.js";
import { SendEvent } from "../components/event-send.js";
import { Link, to, useLocation } from "../router.js";
import { html } from "../ui.js";
import { EventPage } from "./event.js";
import { EventStream } from "./event-stream.js";
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
