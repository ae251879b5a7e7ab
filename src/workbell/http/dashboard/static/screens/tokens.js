// Tokens.
import { Page } from "../components/page.js";
import { html } from "../ui.js";

export function Tokens() {
  return html`<${Page} title="Tokens" />`;
}
