// Runs, live; and one of them, if the address names it.
import { html } from "../ui.js";
import { Run } from "./run.js";
import { RunList } from "./run-list.js";

/** @param {{ parts: string[] }} props */
export function Runs({ parts }) {
  return parts.length ? html`<${Run} id=${parts[0]} />` : html`<${RunList} />`;
}
