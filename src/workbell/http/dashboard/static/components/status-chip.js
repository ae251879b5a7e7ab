// A status to filter by, with how many runs have it among those that the other words of the filter leave.
import { html } from "../ui.js";
import { useRunCount } from "./run-count.js";
import { countText } from "./value.js";

/**
 * `words` in those of GET /runs, or nothing while the filter cannot be read.
 * @param {{ status: string, words: Api.Words | undefined, pressed: boolean, onClick: () => void }} props
 */
export function StatusChip({ status, words, pressed, onClick }) {
  const count = useRunCount(words && { ...words, status });
  return html`<button type="button" class="chip" aria-pressed=${pressed} onClick=${onClick}>
    ${status} ${count && html`<span class="chip-count">${countText(count)}</span>`}
  </button>`;
}
