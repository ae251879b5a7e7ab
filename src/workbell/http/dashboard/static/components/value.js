// Values as they are: JSON, errors with their traceback, lines of a log. Text only, long ones folded.
import { pretty, stringify } from "../json.js";
import { html } from "../ui.js";
import { Copy } from "./copy.js";

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
