// The tester: a type and a pattern, whether they match and why, and which subscribers match.
import { EventSubscribers } from "../components/events.js";
import { Field } from "../components/form.js";
import { Empty, Section, Trouble } from "../components/page.js";
import { Status } from "../components/status.js";
import { usePoll } from "../live.js";
import { Link, setQuery, to, useLocation } from "../router.js";
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

// Why a pattern matches a type or not, word by word. The server has judged; this shows how it came to it.

/** @param {{ type: string, pattern: string, matches: boolean }} props */
function PatternSteps({ type, pattern, matches }) {
  const steps = stepsOf(type.split("."), pattern === "*" ? ["**"] : pattern.split("."));
  const fits = steps.every((step) => step.fits);
  return html`
    <ol class="steps" aria-label="Word by word">
      ${steps.map(
        (step, index) => html`<li key=${index} class=${step.fits ? "fits" : "fits-not"}>
          <span aria-hidden="true">${step.fits ? "✓" : "✕"}</span> ${step.pattern && html`<code>${step.pattern}</code>`} ${step.says} ${step.type && html`<code>${step.type}</code>`}
        </li>`,
      )}
    </ol>
    ${fits && !matches && html`<p class="faint">It is one of Workbell's own: those are heard only by a pattern whose first word is written out.</p>`}
  `;
}

/**
 * @param {string[]} type
 * @param {string[]} pattern
 */
function stepsOf(type, pattern) {
  const steps = [];
  for (let index = 0; index < Math.max(type.length, pattern.length); index++) {
    const wanted = pattern[index];
    const word = type[index];
    if (wanted === undefined) {
      steps.push({ fits: false, says: "the pattern ends here, and leaves over", type: type.slice(index).join(".") });
      break;
    }
    if (word === undefined) steps.push({ fits: false, pattern: wanted, says: "finds no word" });
    else if (wanted === "**") return [...steps, { fits: true, pattern: "**", says: "takes", type: type.slice(index).join(".") }];
    else if (wanted === "*") steps.push({ fits: true, pattern: "*", says: "takes", type: word });
    else steps.push({ fits: wanted === word, pattern: wanted, says: wanted === word ? "is" : "is not", type: word });
  }
  return steps;
}
