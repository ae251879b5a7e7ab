// One run.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Run({ id }) {
  return html`<${Page} title=${id} />`;
}
