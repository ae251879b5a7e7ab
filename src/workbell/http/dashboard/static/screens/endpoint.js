// One endpoint: what is sent there and how it goes, what can be done with it, and every delivery.
import { Deliveries } from "../components/deliveries.js";
import { Enable, EndpointActions, TryNow } from "../components/endpoint-actions.js";
import { HealthStatus } from "../components/endpoint-health.js";
import { Replay } from "../components/endpoint-replay.js";
import { Facts, Loading, Page, Section, Trouble } from "../components/page.js";
import { Status } from "../components/status.js";
import { countText } from "../components/value.js";
import { part } from "../api.js";
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { spanText, Time } from "../times.js";
import { html } from "../ui.js";

/** @param {{ id: string }} props */
export function EndpointPage({ id }) {
  const { data: endpoint, problem, reload } = usePoll(`/webhooks/${part(id)}`, {}, 2);
  if (!endpoint) return html`<${Page} title="Webhook"><${Trouble} problem=${problem} />${!problem && html`<${Loading} />`}<//>`;
  const lead = html`<${Link} to=${to(["webhooks"])}>Webhooks<//> · <code>${endpoint.id}</code>${endpoint.description && ` · ${endpoint.description}`}`;
  const actions = html`<${EndpointActions} endpoint=${endpoint} reload=${reload} />`;
  return html`
    <${Page} title=${endpoint.url} lead=${lead} actions=${actions}>
      <${Trouble} problem=${problem} />
      ${!endpoint.enabled && html`<${WhyDisabled} endpoint=${endpoint} reload=${reload} />`}
      ${endpoint.slowed && html`<${WhySlowed} endpoint=${endpoint} />`}
      <div class="columns">
        <${Section} title="Details"><${Facts} facts=${factsOf(endpoint)} /><//>
        <${Section} title="Health">
          <${Facts} facts=${healthOf(endpoint)} />
          <h3>Secrets</h3>
          <${Secrets} endpoint=${endpoint} />
        <//>
      </div>
      <${Deliveries} endpoint=${endpoint} />
    <//>
  `;
}

/**
 * Why nothing is sent, and how it comes back.
 * @param {{ endpoint: Api.Endpoint, reload: Reload }} props
 */
function WhyDisabled({ endpoint, reload }) {
  return html`<section class="notice why-disabled" aria-label="Why it is disabled">
    <p><strong>Disabled since <${Time} at=${endpoint.disabled_at} />: ${endpoint.disabled_reason}</strong></p>
    <p>Nothing is sent; matching events are recorded. Check that the receiver answers, enable the endpoint, and send what it missed.</p>
    <div class="actions">
      <${Enable} endpoint=${endpoint} reload=${reload} classes="primary" />
      <${Replay} endpoint=${endpoint} since=${endpoint.failing_since ?? endpoint.disabled_at} label="Enable and send what it missed" enable done=${reload} />
    </div>
  </section>`;
}

/**
 * The brake: why so little is sent, how much waits, and how it ends.
 * @param {{ endpoint: Api.Endpoint }} props
 */
function WhySlowed({ endpoint }) {
  if (!endpoint.slowed) return null;
  const { since, waiting, capped } = endpoint.slowed;
  const wait = waiting === 1 ? "1 delivery waits" : `${countText({ count: waiting, capped })} deliveries wait`;
  return html`<section class="trouble why-slowed" aria-label="Why it is slowed">
    <p><strong>Slowed to one attempt a minute: ${endpoint.failures_in_a_row.toLocaleString("en")} attempts in a row have failed since <${Time} at=${since} />. ${wait}.</strong></p>
    <p>What waits spends no attempt. As soon as one attempt succeeds, all of it is sent. A test ping is sent at once, and ends this if it is answered.</p>
    <div class="actions"><${TryNow} endpoint=${endpoint} /></div>
  </section>`;
}

/** @param {Api.Endpoint} endpoint */
const factsOf = (endpoint) => [
  ["State", html`<${Status} of=${endpoint.enabled ? "enabled" : "disabled"} />`],
  ["Patterns", html`<code class="patterns">${endpoint.patterns.join(" ")}</code>`],
  ["Headers", endpoint.header_names === null ? "sealed with a key that is not known here" : endpoint.header_names.join(", ") || "none of its own"],
  ["Rate", endpoint.slowed ? `1 a minute while it fails (else ${endpoint.rate ?? "no limit"})` : (endpoint.rate ?? "no limit")],
  ["At once", endpoint.slowed ? `1 while it fails (else ${endpoint.concurrency ?? 5})` : (endpoint.concurrency ?? "5 (as by default)")],
  ["Time for one attempt", endpoint.timeout === null ? "15 s (as by default)" : spanText(endpoint.timeout)],
  ["Attempts", endpoint.retry_config?.max_attempts ?? "10 over three and a half days (as by default)"],
  ["Created", html`<${Time} at=${endpoint.created_at} />`],
  ["Changed", html`<${Time} at=${endpoint.updated_at} />`],
];

/** @param {Api.Endpoint} endpoint */
const healthOf = (endpoint) => [
  ["Now", html`<${HealthStatus} endpoint=${endpoint} />`],
  ["Failing since", endpoint.failing_since && html`<${Time} at=${endpoint.failing_since} />`],
  ["Last success", endpoint.last_success_at && html`<${Time} at=${endpoint.last_success_at} />`],
  ["Last failure", endpoint.last_failure_at && html`<${Time} at=${endpoint.last_failure_at} />`],
];

/**
 * Since when each signs, and until when; they themselves are told once, when they are made.
 * @param {{ endpoint: Api.Endpoint }} props
 */
function Secrets({ endpoint }) {
  return html`
    <ul class="secrets">
      ${endpoint.secrets.map(
        (one) => html`<li key=${one.created_at}>
          signs since <${Time} at=${one.created_at} />${one.valid_until && html`, until <${Time} at=${one.valid_until} />`}
        </li>`,
      )}
    </ul>
    <p class="faint">${endpoint.sealed ? "They are stored sealed." : html`They are stored as they are; <code>workbell webhooks new-key</code> makes a key that seals them.`}</p>
  `;
}
