// The tester: a type and a pattern, whether they match and why, and which subscribers match.
import { setQuery } from "../components/pager.js";
import { Field } from "../components/field.js";
import { EventSubscribers } from "../components/event-subscribers.js";
import { Empty, Section, Trouble } from "../components/page.js";
import { PatternSteps } from "../components/pattern-steps.js";
import { Status } from "../components/status.js";
import { usePoll } from "../poll.js";
import { Link, to, useLocation } from "../router.js";
import { html } from "../ui.js";

export function EventTester() {
  const { query } = useLocation();
  const type = query.get("type") ?? "";
  const pattern = query.get("pattern") ?? "";
  /** @param {Api.Words} changes */
  const set = (changes) => setQuery(["events"], changes, { replace: true });
  const { data, problem } = usePoll(type ? "/events/match" : null, { type, pattern }, 0);
  return html`
    <div class="columns">
      <${Section} title="Try a pattern">
        <form class="form" onSubmit=${(event) => event.preventDefault()}>
          <${Field} label="Type of event" value=${type} onChange=${(text) => set({ type: text.trim() })} placeholder="orders.placed" maxlength="256" data-filter />
          <${Field} label="Pattern" value=${pattern} onChange=${(text) => set({ pattern: text.trim() })} placeholder="orders.*" maxlength="256" />
        </form>
        <div class="verdict" aria-live="polite">
          <${Trouble} problem=${problem} />
          ${!problem && data && pattern && html`<${Verdict} type=${type} pattern=${pattern} matches=${data.matches} />`}
        </div>
      <//>
      <${Section} title="How patterns read"><${Rules} /><//>
    </div>
    <${Section} title="Matching triggers and endpoints">
      ${
        data && !problem
          ? data.items.length
            ? html`<${EventSubscribers} items=${data.items} />`
            : html`<${Empty} code=${`@bell.on("${type}")`}>No trigger and no endpoint matches <code>${type}</code>. To start a job on it:<//>`
          : html`<p class="faint">Type a type of event, such as <code>orders.placed</code>.</p>`
      }
    <//>
  `;
}

/** @param {{ type: string, pattern: string, matches: boolean }} props */
function Verdict({ type, pattern, matches }) {
  return html`
    <p>
      <${Status} of=${matches ? "ok" : "failed"} says=${matches ? "matches" : "does not match"} />
      ${" "}<code>${pattern}</code> ${matches ? "matches" : "does not match"} <code>${type}</code>.
    </p>
    <${PatternSteps} type=${type} pattern=${pattern} matches=${matches} />
    <p><${Link} to=${to(["events"], { type: pattern })}>Events that <code>${pattern}</code> matches<//></p>
  `;
}

const Rules = () => html`
  <dl class="rules">
    <div><dt><code>orders.placed</code></dt><dd>this type alone; small and capital letters differ</dd></div>
    <div><dt><code>orders.*</code></dt><dd><code>*</code> is exactly one word: <code>orders.placed</code>, not <code>orders.placed.late</code></dd></div>
    <div><dt><code>*.placed</code></dt><dd>a <code>*</code> may stand anywhere, but never beside letters</dd></div>
    <div><dt><code>orders.**</code></dt><dd><code>**</code> is one word or more; only at the end</dd></div>
    <div><dt><code>*</code></dt><dd>alone: every type, but for Workbell's own (<code>job.failed</code> …): their first word must be written out</dd></div>
  </dl>
`;
