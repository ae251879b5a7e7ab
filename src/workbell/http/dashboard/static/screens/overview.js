// Overview.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Overview() {
  return html`<${Page} title="Overview" />`;
}
