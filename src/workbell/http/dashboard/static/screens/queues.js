// Queues.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Queues() {
  return html`<${Page} title="Queues" />`;
}
