// Notifications.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Notifications() {
  return html`<${Page} title="Notifications" />`;
}
