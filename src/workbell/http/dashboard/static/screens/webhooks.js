// Webhooks: the endpoints that events are sent to; and one of them, if the address names it.
import { html } from "../ui.js";
import { EndpointPage } from "./endpoint.js";
import { EndpointList } from "./endpoint-list.js";

/** @param {{ parts: string[] }} props */
export function Webhooks({ parts }) {
  return parts.length ? html`<${EndpointPage} id=${parts[0]} />` : html`<${EndpointList} />`;
}
