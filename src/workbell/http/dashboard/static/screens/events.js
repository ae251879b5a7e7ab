// Events.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Events() {
  return html`<${Page} title="Events" />`;
}
