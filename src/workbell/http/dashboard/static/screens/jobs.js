// Jobs.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Jobs() {
  return html`<${Page} title="Jobs" />`;
}
