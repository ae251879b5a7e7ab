// A secret that is shown this once: it lives in the dialog around it, and is gone when that closes.
import { html } from "../ui.js";
import { Block } from "./value.js";

export function Secret({ text, name }) {
  return html`
    <p class="notice">This is the only time that it is shown. Copy it now, and keep it where only who needs it can read it.</p>
    <${Block} text=${text} name=${name} />
  `;
}
