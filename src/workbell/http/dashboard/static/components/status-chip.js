// A status to filter by, with how many runs have it among those that the other words of the filter leave.
import { usePoll } from "../poll.js";
import { html } from "../ui.js";
import { COUNTED } from "./bulk-bar.js";
import { countText } from "./value.js";

/** `words` in those of GET /runs, or nothing while the filter cannot be read. */
export function StatusChip({ status, words, pressed, onClick }) {
  const { data } = usePoll(words ? "/runs/count" : null, { ...words, status }, COUNTED);
  return html`<button type="button" class="chip" aria-pressed=${pressed} onClick=${onClick}>
    ${status} ${data && html`<span class="chip-count">${countText(data)}</span>`}
  </button>`;
}
