// Tenants: their share of the work, and their limits.
import { api, part, useSession } from "../api.js";
import { Action, Dialog } from "../components/dialog.js";
import { Field, SubmitFoot, useSubmit } from "../components/form.js";
import { Loading, Page, Pager, Trouble } from "../components/page.js";
import { Table } from "../components/table.js";
import { toast } from "../components/toasts.js";
import { usePoll } from "../live.js";
import { Link, to, useLocation } from "../router.js";
import { Time } from "../times.js";
import { html, toFirstWrong, useState } from "../ui.js";

export function Tenants() {
  const { query } = useLocation();
  const { data, problem, reload } = usePoll("/tenants", { after: query.get("after") }, 5);
  const [editing, edit] = useState(/** @type {Partial<Api.Tenant> | null} */ (null));
  const everything = useSession().tenant === "*";
  const actions = everything && html`<button type="button" class="primary" onClick=${() => edit({})}>New tenant</button>`;
  return html`
    <${Page} title="Tenants" lead="Where several have runs waiting, each gets starts in proportion to its weight." actions=${actions}>
      <${Trouble} problem=${problem} />
      ${!data && !problem && html`<${Loading} />`}
      ${data && html`<${Table} caption="Tenants" rows=${data.items} keyOf=${(tenant) => tenant.name} columns=${/** @type {Column<Api.Tenant>[]} */ ([
        { name: "Tenant", cell: (tenant) => html`<${Link} class="strong" to=${to([], { tenant: tenant.name })}>${tenant.name}<//>` },
        { name: "Description", classes: "wide", cell: (tenant) => tenant.description },
        { name: "Weight", classes: "number", cell: (tenant) => tenant.weight },
        { name: "At once", classes: "number", cell: (tenant) => tenant.concurrency ?? "no limit" },
        { name: "Rate", classes: "number", cell: (tenant) => tenant.rate ?? "no limit" },
        { name: "Changed", classes: "when", cell: (tenant) => html`<${Time} at=${tenant.updated_at} />` },
        { name: "Actions", hidden: true, classes: "number", cell: (tenant) => everything && html`<${Change} tenant=${tenant} edit=${edit} reload=${reload} />` },
      ])} />`}
      <${Pager} next=${data?.next} name="after" />
      ${editing && html`<${TenantForm} tenant=${editing} close=${() => edit(null)} reload=${reload} />`}
    <//>
  `;
}

/** @param {{ tenant: Api.Tenant, edit: (tenant: Api.Tenant) => void, reload: Reload }} props */
function Change({ tenant, edit, reload }) {
  const forget = async () => {
    await api.remove(`/tenants/${part(tenant.name)}`);
    await reload();
    return `What was set for ${tenant.name} is forgotten; its runs stay.`;
  };
  const ask = { title: `Forget the settings of ${tenant.name}?`, text: "Its weight becomes 1 and its limits end. Its runs stay.", action: "Forget them" };
  return html`<span class="actions">
    <button type="button" class="small" onClick=${() => edit(tenant)}>Edit</button>
    ${tenant.created_at && html`<${Action} label="Forget" classes="small danger" needs="admin" run=${forget} ask=${ask} />`}
  </span>`;
}

// A tenant's weight and limits, to be set.

/** @param {string} text */
const isWhole = (text) => /^[1-9]\d{0,8}$/.test(text);

/** @param {{ tenant: Partial<Api.Tenant>, close: () => void, reload: Reload }} props */
function TenantForm({ tenant, close, reload }) {
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
