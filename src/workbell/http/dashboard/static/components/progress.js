// How far a run is.
import { html } from "../ui.js";

/**
 * `progress` as the API tells it: {done, total, message}; without a total, only what it says.
 * @param {{ progress: Api.Run["progress"] }} props
 */
export function Progress({ progress }) {
  if (!progress) return null;
  const { done, total, message } = progress;
  if (!total) return html`<span class="progress-note">${message || `${done ?? ""}`}</span>`;
  const share = Math.min(100, Math.round((100 * Number(done ?? 0)) / Number(total))); // they may be very large
  const text = `${share} %${message ? ` · ${message}` : ""}`;
  return html`
    <span class="progress">
      <progress max="100" value=${share} aria-label="Progress">${share} %</progress>
      <span class="progress-note">${text}</span>
    </span>
  `;
}
