// A secret that is shown this once: it lives in the dialog around it, and is gone when that closes.
import { html } from "../ui.js";
import { Block } from "./value.js";

/** @param {{ text: string, name: string }} props */
export function Secret({ text, name }) {
  return html`
    <p class="notice">It is shown only this once. Copy it now, and store it where nobody else can read it.</p>
    <${Block} text=${text} name=${name} />
  `;
}
