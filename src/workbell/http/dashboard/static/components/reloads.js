// What became of job files since the page was opened: "reloaded", or the error, for as long as it stands.
import { html } from "../ui.js";

export function Reloads() {
  return html``;
}
