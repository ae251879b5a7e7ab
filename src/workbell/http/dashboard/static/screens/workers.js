// Workers.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Workers() {
  return html`<${Page} title="Workers" />`;
}
