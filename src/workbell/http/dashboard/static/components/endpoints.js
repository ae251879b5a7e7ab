// Endpoints of webhooks: their form, their secrets, and their health.
import { api, part, Problem } from "../api.js";
import { Time } from "../times.js";
import { html, useState } from "../ui.js";
import { Action, Dialog } from "./dialog.js";
import { Area, Choice, Field, SubmitFoot, useSubmit } from "./form.js";
import { Status } from "./status.js";
import { toast } from "./toasts.js";
import { countText, Secret } from "./value.js";

// Making and changing an endpoint.

/**
 * @typedef {Pick<Api.Endpoint, "url" | "patterns" | "description" | "rate" | "concurrency" | "timeout" | "header_names">} EndpointWords
 * @typedef {ReturnType<typeof textsOf>} EndpointTexts
 * @typedef {ReturnType<typeof settingsOf>} EndpointSettings
 */

/** @type {EndpointWords} */
const NEW = { url: "", patterns: [], description: "", rate: null, concurrency: null, timeout: null, header_names: [] };

/** @param {{ done: Reload }} props */
export function AddEndpoint({ done }) {
  const [open, setOpen] = useState(false);
  const [secret, setSecret] = useState(/** @type {string | null} */ (null));
  /** @param {EndpointSettings} words */
  const save = async (words) => {
    const made = await api.post("/webhooks", words);
    setSecret(made.secret);
    done();
  };
  return html`
    <${Action} label="Add an endpoint" classes="primary" run=${async () => setOpen(true)} />
    ${open && html`<${Form} title="Add an endpoint" submit="Add endpoint" endpoint=${NEW} save=${save} close=${() => setOpen(false)} />`}
    ${secret && html`<${ShownOnce} secret=${secret} close=${() => setSecret(null)} />`}
  `;
}

/** @param {{ endpoint: Api.Endpoint, done: Reload }} props */
export function EditEndpoint({ endpoint, done }) {
  const [open, setOpen] = useState(false);
  /** @param {EndpointSettings} words */
  const save = async (words) => {
    await api.patch(`/webhooks/${part(endpoint.id)}`, words);
    toast("The endpoint is changed.");
    done();
  };
  return html`
    <${Action} label="Edit" run=${async () => setOpen(true)} />
    ${open && html`<${Form} title="Edit the endpoint" submit="Save" endpoint=${endpoint} save=${save} close=${() => setOpen(false)} />`}
  `;
}

/** @param {{ title: string, submit: string, endpoint: EndpointWords, save: (settings: EndpointSettings) => Promise<void>, close: () => void }} props */
function Form({ title, submit, endpoint, save, close }) {
  const [words, setWords] = useState(textsOf(endpoint));
  /** @param {keyof EndpointTexts} name */
  const field = (name) => ({ value: words[name], onChange: (/** @type {string} */ text) => setWords({ ...words, [name]: text }) });
  const { send, busy, problem } = useSubmit(async () => {
    await save(settingsOf(words));
    close();
  });
  const names = endpoint.header_names?.join(", ");
  return html`
    <${Dialog} title=${title} onClose=${close}>
      <form class="form" onSubmit=${send}>
        <${Field} label="URL" type="url" ...${field("url")} required maxlength="2000" placeholder="https://shop.example/hooks" />
        <${Area} label="Patterns" ...${field("patterns")} rows=${3} required placeholder="orders.*" hint="Which events, one pattern a line. * is one word, ** at the end is one or more." />
        <${Field} label="Description" ...${field("description")} maxlength="1000" />
        <div class="form-columns">
          <${Field} label="Rate" ...${field("rate")} placeholder="10/s" hint="No more than that; empty for no limit." />
          <${Field} label="At once" ...${field("concurrency")} type="number" min="1" hint="Deliveries at a time; else 5." />
          <${Field} label="Seconds for one attempt" ...${field("timeout")} type="number" min="0.1" max="30" step="any" hint="Up to 30; else 15." />
        </div>
        <${Area} label="Headers" ...${field("headers")} rows=${2} placeholder="Authorization: Bearer …"
          hint=${names
            ? `Sent now: ${names}. Leave this empty to keep them; what is written here takes the place of all.`
            : "Sent along, one a line, as Name: value. Their values are never shown again."} />
        <${SubmitFoot} label=${submit} busy=${busy} problem=${problem} close=${close} />
      </form>
    <//>
  `;
}

/** @param {EndpointWords} endpoint */
const textsOf = (endpoint) => ({
  url: endpoint.url,
  patterns: endpoint.patterns.join("\n"),
  description: endpoint.description,
  rate: endpoint.rate ?? "",
  concurrency: String(endpoint.concurrency ?? ""),
  timeout: String(endpoint.timeout ?? ""),
  headers: "",
});

/**
 * In the words of the API. Headers are left out where nothing is written, so that those there are stay.
 * @param {EndpointTexts} words
 */
function settingsOf(words) {
  const settings = {
    url: words.url.trim(),
    patterns: words.patterns.split(/[\s,]+/).filter(Boolean),
    description: words.description,
    rate: words.rate.trim() || null,
    concurrency: words.concurrency === "" ? null : Number(words.concurrency),
    timeout: words.timeout === "" ? null : Number(words.timeout),
  };
  const lines = words.headers.split("\n").filter((line) => line.trim());
  return lines.length ? { ...settings, headers: Object.fromEntries(lines.map(headerOf)) } : settings;
}

/** @param {string} line */
function headerOf(line) {
  const colon = line.indexOf(":");
  if (colon < 1) throw new Problem(`Headers: ${line} is not written as Name: value.`);
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

// The secret of an endpoint: another one, and how a new one is shown, once.

/**
 * A new secret: this once. It lives in this dialog alone, and is gone when that closes.
 * @param {{ secret: string, close: () => void }} props
 */
function ShownOnce({ secret, close }) {
  return html`
    <${Dialog} title="The secret of this endpoint" onClose=${close}>
      <${Secret} text=${secret} name="Secret" />
      <p class="faint">Every delivery is signed with it, as Standard Webhooks says: the receiver checks the header
        ${" "}<code>webhook-signature</code> before it believes what it is sent.</p>
      <div class="dialog-foot"><button type="button" class="primary" onClick=${close}>I have saved it</button></div>
    <//>
  `;
}

const OVERLAPS = [["86400", "for a day"], ["3600", "for an hour"], ["604800", "for a week"], ["0", "not at all: it is in wrong hands"]];

/**
 * Another secret: asks how long the old one is to be valid too.
 * @param {{ endpoint: Api.Endpoint, done: Reload }} props
 */
export function Rotate({ endpoint, done }) {
  const [open, setOpen] = useState(false);
  const [overlap, setOverlap] = useState("86400");
  const [secret, setSecret] = useState(/** @type {string | null} */ (null));
  const { send, busy, problem } = useSubmit(async () => {
    const made = await api.post(`/webhooks/${part(endpoint.id)}/rotate`, { overlap: Number(overlap) });
    setOpen(false);
    setSecret(made.secret);
    await done();
  });
  return html`
    <${Action} label="Rotate secret" run=${async () => setOpen(true)} />
    ${
      open &&
      html`<${Dialog} title="Rotate the secret?" onClose=${() => setOpen(false)}>
        <form class="form" onSubmit=${send}>
          <p>A new secret is made and shown once. For a while both sign every delivery, so that the receiver can change over without refusing any.</p>
          <${Choice} label="The old one signs as well" value=${overlap} onChange=${setOverlap} options=${OVERLAPS} />
          <${SubmitFoot} label="Create new secret" classes="danger" busy=${busy} problem=${problem} close=${() => setOpen(false)} />
        </form>
      <//>`
    }
    ${secret && html`<${ShownOnce} secret=${secret} close=${() => setSecret(null)} />`}
  `;
}

// How an endpoint is: enabled, or why not and since when; and how its last deliveries went.

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
