// Pages by cursor: forward, and back to the first. The cursor stands in the address, so Back works.
import { currentQuery, go, Link, to, useLocation, wordsOf } from "../router.js";
import { html } from "../ui.js";

/**
 * `next` is the cursor that the API gave, or null; `name` its word in the address; `first` and `further` the labels.
 * @param {{ next: string | null | undefined, name?: string, first?: string, further?: string }} props
 */
export function Pager({ next, name = "before", first = "« Newest", further = "Older »" }) {
  const { parts, query } = useLocation();
  const { [name]: here, ...others } = wordsOf(query);
  if (!next && !here) return null;
  return html`
    <nav class="pager" aria-label="Pages">
      ${here ? html`<${Link} class="button" to=${to(parts, others)}>${first}<//>` : html`<span></span>`}
      ${next ? html`<${Link} class="button" to=${to(parts, { ...others, [name]: next })}>${further}<//>` : html`<span class="faint">That is all.</span>`}
    </nav>
  `;
}

/**
 * Set words of the address's query; an empty value takes a word away.
 * @param {readonly string[]} parts
 * @param {Api.Words} changes
 * @param {{ replace?: boolean }} [options]
 */
export function setQuery(parts, changes, options) {
  go(to(parts, { ...wordsOf(currentQuery()), ...changes }), options);
}
