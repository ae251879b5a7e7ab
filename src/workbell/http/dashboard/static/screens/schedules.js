// Schedules.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Schedules() {
  return html`<${Page} title="Schedules" />`;
}
