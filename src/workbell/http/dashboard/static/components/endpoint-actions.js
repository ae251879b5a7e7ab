// What can be done with an endpoint: try, change, give another secret, switch, send again, remove.
import { api, part } from "../api.js";
import { go, to } from "../router.js";
import { useMay } from "../session.js";
import { html, useState } from "../ui.js";
import { Action } from "./action.js";
import { setQuery } from "./pager.js";
import { Dialog } from "./dialog.js";
import { EditEndpoint } from "./endpoint-form.js";
import { Replay } from "./endpoint-replay.js";
import { Rotate } from "./endpoint-secret.js";
import { Field } from "./field.js";
import { SubmitFoot, useSubmit } from "./submit.js";
import { toast } from "./toasts.js";

/** @param {Api.Endpoint} endpoint */
export const pathOf = (endpoint) => /** @type {const} */ (`/webhooks/${part(endpoint.id)}`);

/** @param {{ endpoint: Api.Endpoint, reload: Reload }} props */
export function EndpointActions({ endpoint, reload }) {
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
export function TryNow({ endpoint, label = "Try now" }) {
  const ping = async () => {
    const delivery = await api.post(`${pathOf(endpoint)}/test`);
    setQuery(["webhooks", endpoint.id], { delivery: delivery.id }, { replace: true });
  };
  return html`<${Action} label=${label} classes=${label === "Try now" ? "primary" : ""} run=${ping} />`;
}

/** @param {{ endpoint: Api.Endpoint, reload: Reload, classes?: string }} props */
export function Enable({ endpoint, reload, classes = "" }) {
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
