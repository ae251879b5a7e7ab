// Values: JSON, blocks of text, counts, a secret that is shown once, and how far a run is.
import { pretty, stringify } from "../api.js";
import { html } from "../ui.js";
import { Copy } from "./copy.js";

// Values as they are: JSON, errors with their traceback, lines of a log. Text only, long ones folded.

/**
 * A JSON value, to be read and copied. `name` says what it is.
 * @param {{ value: unknown, name: string }} props
 */
export function Json({ value, name }) {
  const text = pretty(value);
  return html`<${Block} text=${text} name=${name} />`;
}

/**
 * A text with its line breaks. `children` is the same text, if parts of it are marked.
 * @param {{ text: string, name: string, classes?: string, children?: Child }} props
 */
export function Block({ text, name, classes = "", children }) {
  return html`
    <div class="block ${classes}">
      <pre tabindex="0" role="region" aria-label=${name}><code>${children ?? text}</code></pre>
      <${Copy} text=${text} label="Copy" />
    </div>
  `;
}

/**
 * A short value within a row.
 * @param {{ value: unknown }} props
 */
export function Inline({ value }) {
  const text = typeof value === "string" ? value : (stringify(value) ?? "");
  return html`<code class="inline" title=${text.slice(0, 1000)}>${text.length > 120 ? `${text.slice(0, 119)}…` : text}</code>`;
}

/**
 * A number of which the API counts only so many.
 * @param {Api.RunCount} runcount
 */
export const countText = ({ count, capped }) => `${count.toLocaleString("en")}${capped ? "+" : ""}`;

// Sentences of the server: what stands between backticks is a command, or code.

/** @param {string} text */
export const inWords = (text) => text.split("`").map((piece, index) => (index % 2 ? html`<code>${piece}</code>` : piece));

// A secret that is shown this once: it lives in the dialog around it, and is gone when that closes.

/** @param {{ text: string, name: string }} props */
export function Secret({ text, name }) {
  return html`
    <p class="notice">It is shown only this once. Copy it now, and store it where nobody else can read it.</p>
    <${Block} text=${text} name=${name} />
  `;
}

// How far a run is.

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
