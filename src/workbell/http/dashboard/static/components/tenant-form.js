// A tenant's weight and limits, to be set.
import { api, part } from "../api.js";
import { toFirstWrong } from "../focus.js";
import { html, useState } from "../ui.js";
import { Dialog } from "./dialog.js";
import { Field } from "./field.js";
import { SubmitFoot, useSubmit } from "./submit.js";
import { toast } from "./toasts.js";

/** @param {string} text */
const isWhole = (text) => /^[1-9]\d{0,8}$/.test(text);

/** @param {{ tenant: Partial<Api.Tenant>, close: () => void, reload: Reload }} props */
export function TenantForm({ tenant, close, reload }) {
  const isNew = !tenant.name;
  const [name, setName] = useState(tenant.name ?? "");
  const [description, setDescription] = useState(tenant.description ?? "");
  const [weight, setWeight] = useState(String(tenant.weight ?? 1));
  const [concurrency, setConcurrency] = useState(String(tenant.concurrency ?? ""));
  const [rate, setRate] = useState(tenant.rate ?? "");
  const [wrong, setWrong] = useState(/** @type {Wrong} */ ({}));
  const { send, busy, problem } = useSubmit(async (event) => {
    /** @type {Wrong} */
    const found = {};
    if (!name.trim()) found.name = "It needs a name.";
    if (!isWhole(weight)) found.weight = "A whole number from 1 on.";
    if (concurrency && !isWhole(concurrency)) found.concurrency = "A whole number from 1 on, or nothing.";
    setWrong(found);
    if (Object.keys(found).length) return toFirstWrong(event.target);
    const body = { weight: Number(weight), concurrency: concurrency ? Number(concurrency) : null, rate: rate.trim() || null, description };
    await api.put(`/tenants/${part(name.trim())}`, body);
    toast(`${name.trim()} is set.`);
    close();
    return reload();
  });
  return html`
    <${Dialog} title=${isNew ? "New tenant" : `Tenant ${tenant.name}`} onClose=${close}>
      <form class="form" onSubmit=${send} noValidate>
        ${isNew && html`<${Field} label="Name" value=${name} onChange=${setName} wrong=${wrong.name} maxlength="200" />`}
        <${Field} label="Description" value=${description} onChange=${setDescription} maxlength="1000" />
        <${Field} label="Weight" value=${weight} onChange=${setWeight} wrong=${wrong.weight} inputmode="numeric" hint="With 3, it gets three starts for each one of a tenant with 1." />
        <${Field} label="Runs at once" value=${concurrency} onChange=${setConcurrency} wrong=${wrong.concurrency} inputmode="numeric" hint="Over all machines; empty: no limit." />
        <${Field} label="Rate of starts" value=${rate} onChange=${setRate} hint="Such as 100/m or 5/s; empty: no limit." />
        <${SubmitFoot} label="Save" busy=${busy} problem=${problem} />
      </form>
    <//>
  `;
}
