// The filter of the stream: one pattern, which stands in the address.
import { go, Link, to } from "../router.js";
import { html } from "../ui.js";
import { Typed } from "./typed.js";

/** All but Workbell's own: a star at the beginning does not stand for those. */
const OURS = "*";

/** @param {{ pattern: string }} props */
export function EventFilter({ pattern }) {
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
