// Doctor.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Doctor() {
  return html`<${Page} title="Doctor" />`;
}
