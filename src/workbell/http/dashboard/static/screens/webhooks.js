// Webhooks.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Webhooks() {
  return html`<${Page} title="Webhooks" />`;
}
