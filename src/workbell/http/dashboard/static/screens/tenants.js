// Tenants.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Tenants() {
  return html`<${Page} title="Tenants" />`;
}
