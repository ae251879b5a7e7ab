// How an endpoint is: enabled, or why not and since when; and how its last deliveries went.
import { Time } from "../times.js";
import { html } from "../ui.js";
import { Status } from "./status.js";
import { countText } from "./value.js";

/** @param {{ endpoint: Api.Endpoint }} props */
export function EndpointState({ endpoint }) {
  if (endpoint.enabled) return html`<${Status} of="enabled" />`;
  return html`<div class="disabled-why">
    <${Status} of="disabled" />
    <p>${endpoint.disabled_reason} <span class="faint">· <${Time} at=${endpoint.disabled_at} ago /></span></p>
  </div>`;
}

/**
 * In a word or two.
 * @param {{ endpoint: Api.Endpoint }} props
 */
export function HealthStatus({ endpoint }) {
  const failures = endpoint.failures_in_a_row;
  if (endpoint.slowed) return html`<${Status} of="failed" says=${`slowed: ${failures.toLocaleString("en")} failed in a row`} />`;
  if (failures) return html`<${Status} of="warning" says=${`${failures} failed in a row`} />`;
  return endpoint.last_success_at ? html`<${Status} of="ok" says="healthy" />` : html`<span class="faint">nothing delivered yet</span>`;
}

/**
 * The same, with since when.
 * @param {{ endpoint: Api.Endpoint }} props
 */
export function Health({ endpoint }) {
  const { failing_since: since, last_success_at: success } = endpoint;
  return html`<div>
    <${HealthStatus} endpoint=${endpoint} />
    ${since && html`<p class="faint">since <${Time} at=${since} /></p>`}
    ${endpoint.slowed && html`<p class="faint">one attempt a minute, ${countText({ count: endpoint.slowed.waiting, capped: endpoint.slowed.capped })} wait</p>`}
    ${success && html`<p class="faint">last success <${Time} at=${success} ago /></p>`}
  </div>`;
}
