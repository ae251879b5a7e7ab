// Sending again what an endpoint did not get since a time.
import { api, part, Problem } from "../api.js";
import { zone } from "../preferences.js";
import { Time, zoneName } from "../times.js";
import { html, useState } from "../ui.js";
import { Action } from "./action.js";
import { Dialog } from "./dialog.js";
import { Field } from "./field.js";
import { SubmitFoot, useSubmit } from "./submit.js";
import { toast } from "./toasts.js";

const DAY = 86_400_000;

/**
 * `since` is the time that is proposed; with `enable`, the endpoint is enabled before.
 * @param {{ endpoint: Api.Endpoint, since: string | null, label?: string, enable?: boolean, done: Reload }} props
 */
export function Replay({ endpoint, since, label = "Replay …", enable = false, done }) {
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
