// Audit.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Audit() {
  return html`<${Page} title="Audit" />`;
}
