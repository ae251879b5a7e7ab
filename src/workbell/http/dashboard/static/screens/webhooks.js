// Webhooks: the endpoints that events are sent to; and one of them with its settings, its health and its deliveries.
import { api, part, Problem, useMay } from "../api.js";
import { Deliveries } from "../components/deliveries.js";
import { Action, Dialog } from "../components/dialog.js";
import { AddEndpoint, EditEndpoint, EndpointState, Health, HealthStatus, Rotate } from "../components/endpoints.js";
import { Field, SubmitFoot, useSubmit } from "../components/form.js";
import { Empty, Facts, Loading, Page, Section, Trouble } from "../components/page.js";
import { Status } from "../components/status.js";
import { Table } from "../components/table.js";
import { toast } from "../components/toasts.js";
import { countText } from "../components/value.js";
import { usePoll } from "../live.js";
import { zone } from "../preferences.js";
import { go, Link, setQuery, to } from "../router.js";
import { spanText, Time, zoneName } from "../times.js";
import { html, useState } from "../ui.js";

/** @param {{ parts: string[] }} props */
export function Webhooks({ parts }) {
  return parts.length ? html`<${EndpointPage} id=${parts[0]} />` : html`<${EndpointList} />`;
}

// All endpoints: where events are sent, which, and how it goes.

const COMMAND = "workbell webhooks add https://shop.example/hooks --pattern 'orders.*'";

function EndpointList() {
  const { data, problem, reload } = usePoll("/webhooks", {}, 2);
  return html`
    <${Page} title="Webhooks" lead="Endpoints that events are sent to, signed." actions=${html`<${AddEndpoint} done=${reload} />`}>
      <${Trouble} problem=${problem} />
      ${data ? html`<${Listed} items=${data.items} />` : !problem && html`<${Loading} />`}
    <//>
  `;
}

/** @param {{ items: Api.Endpoint[] }} props */
function Listed({ items }) {
  if (!items.length) return html`<${Empty} code=${COMMAND}>Events are sent nowhere yet. Have some sent:<//>`;
  /** @type {Column<Api.Endpoint>[]} */
  const columns = [
    {
      name: "Endpoint",
      classes: "wide",
      by: (one) => one.url,
      cell: (one) => html`<div><${Link} class="strong" to=${to(["webhooks", one.id])}>${one.url}<//>${one.description && html`<p class="faint">${one.description}</p>`}</div>`,
    },
    { name: "Patterns", cell: (one) => html`<${Patterns} patterns=${one.patterns} />` },
    { name: "State", classes: "endpoint-state", cell: (one) => html`<${EndpointState} endpoint=${one} />` },
    { name: "Health", classes: "endpoint-state", by: (one) => -one.failures_in_a_row, cell: (one) => html`<${Health} endpoint=${one} />` },
  ];
  return html`<${Table} caption="Webhook endpoints" columns=${columns} rows=${items} rowLink />`;
}

const SHOWN = 4;

/** @param {{ patterns: string[] }} props */
function Patterns({ patterns }) {
  const more = patterns.length - SHOWN;
  return html`<code class="patterns" title=${patterns.join(" ")}>${patterns.slice(0, SHOWN).join(" ")}</code>${more > 0 && html` <span class="faint">and ${more} more</span>`}`;
}

// One endpoint: what is sent there and how it goes, what can be done with it, and every delivery.

/** @param {{ id: string }} props */
function EndpointPage({ id }) {
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

// What can be done with an endpoint: try, change, give another secret, switch, send again, remove.

/** @param {Api.Endpoint} endpoint */
const pathOf = (endpoint) => /** @type {const} */ (`/webhooks/${part(endpoint.id)}`);

/** @param {{ endpoint: Api.Endpoint, reload: Reload }} props */
function EndpointActions({ endpoint, reload }) {
  if (!useMay("operate")) return null;
  const remove = async () => {
    await api.remove(pathOf(endpoint));
    go(to(["webhooks"]));
    return "The endpoint is deleted.";
  };
  const ask = {
    title: "Delete this endpoint?",
    text: `Nothing more is sent to ${endpoint.url}, what is not sent yet is canceled, and its secret is forgotten.`,
    action: "Delete",
  };
  return html`
    ${endpoint.enabled && html`<${TryNow} endpoint=${endpoint} label="Send a test ping" />`}
    <${EditEndpoint} endpoint=${endpoint} done=${reload} />
    <${Rotate} endpoint=${endpoint} done=${reload} />
    ${endpoint.enabled && html`<${Replay} endpoint=${endpoint} since=${endpoint.failing_since} done=${reload} />`}
    ${endpoint.enabled && html`<${Disable} endpoint=${endpoint} reload=${reload} />`}
    <${Action} label="Delete" classes="danger" ask=${ask} run=${remove} />
  `;
}

/**
 * A test ping, which no brake holds up.
 * @param {{ endpoint: Api.Endpoint, label?: string }} props
 */
function TryNow({ endpoint, label = "Try now" }) {
  const ping = async () => {
    const delivery = await api.post(`${pathOf(endpoint)}/test`);
    setQuery(["webhooks", endpoint.id], { delivery: delivery.id }, { replace: true });
  };
  return html`<${Action} label=${label} classes=${label === "Try now" ? "primary" : ""} run=${ping} />`;
}

/** @param {{ endpoint: Api.Endpoint, reload: Reload, classes?: string }} props */
function Enable({ endpoint, reload, classes = "" }) {
  const run = async () => {
    await api.post(`${pathOf(endpoint)}/enable`);
    await reload();
    return "Enabled: events are sent from now on.";
  };
  return html`<${Action} label="Enable" classes=${classes} run=${run} />`;
}

/** @param {{ endpoint: Api.Endpoint, reload: Reload }} props */
function Disable({ endpoint, reload }) {
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState("disabled by hand");
  const { send, busy, problem } = useSubmit(async () => {
    await api.post(`${pathOf(endpoint)}/disable`, { reason });
    setOpen(false);
    toast("Disabled: nothing more is sent.");
    await reload();
  });
  return html`
    <${Action} label="Disable" run=${async () => setOpen(true)} />
    ${
      open &&
      html`<${Dialog} title="Disable this endpoint?" onClose=${() => setOpen(false)}>
        <form class="form" onSubmit=${send}>
          <p>Nothing more is sent. Matching events are recorded, and can be sent later.</p>
          <${Field} label="Reason" value=${reason} onChange=${setReason} required maxlength="500" hint="Shown on this page." />
          <${SubmitFoot} label="Disable it" classes="danger" busy=${busy} problem=${problem} close=${() => setOpen(false)} />
        </form>
      <//>`
    }
  `;
}

// Sending again what an endpoint did not get since a time.

const DAY = 86_400_000;

/**
 * `since` is the time that is proposed; with `enable`, the endpoint is enabled before.
 * @param {{ endpoint: Api.Endpoint, since: string | null, label?: string, enable?: boolean, done: Reload }} props
 */
function Replay({ endpoint, since, label = "Replay …", enable = false, done }) {
  const [open, setOpen] = useState(false);
  return html`
    <${Action} label=${label} run=${async () => setOpen(true)} />
    ${open && html`<${Form} endpoint=${endpoint} since=${since} enable=${enable} done=${done} close=${() => setOpen(false)} />`}
  `;
}

/** @param {{ endpoint: Api.Endpoint, since: string | null, enable: boolean, done: Reload, close: () => void }} props */
function Form({ endpoint, since, enable, done, close }) {
  const choice = zone.use();
  const [text, setText] = useState(() => fieldText(since ? new Date(since) : new Date(Date.now() - DAY), choice));
  const at = new Date(choice === "utc" ? `${text}Z` : text);
  const known = !Number.isNaN(at.getTime());
  const { send, busy, problem } = useSubmit(async () => {
    if (!known) throw new Problem("Since: say a day and a time.");
    const path = /** @type {const} */ (`/webhooks/${part(endpoint.id)}`);
    if (enable) await api.post(`${path}/enable`);
    const { items } = await api.post(`${path}/replay`, { since: at.toISOString() });
    close();
    done();
    toast(items.length ? `${items.length} ${items.length === 1 ? "event is" : "events are"} sent again.` : "Nothing was left out since then: nothing is sent again.");
  });
  return html`
    <${Dialog} title="Send again what was not delivered?" onClose=${close}>
      <form class="form" onSubmit=${send}>
        <p>Every event since then whose delivery failed or was canceled, or that came while the endpoint was disabled, is sent once more.</p>
        <${Field} label=${`Since (${zoneName(choice, known ? at : new Date())})`} type="datetime-local" step="1" required value=${text} onChange=${setText}
          hint=${known && html`<${Time} at=${at.toISOString()} ago />`} />
        <${SubmitFoot} label=${enable ? "Enable and send" : "Send again"} busy=${busy} problem=${problem} close=${close} />
      </form>
    <//>
  `;
}

/**
 * A time as such a field wants it, without a zone: by the clock that the page shows. Whole seconds, rounded down.
 * @param {Date} at
 * @param {string} choice
 */
function fieldText(at, choice) {
  const shift = choice === "utc" ? 0 : at.getTimezoneOffset() * 60_000;
  return new Date(at.getTime() - shift).toISOString().slice(0, 19);
}
