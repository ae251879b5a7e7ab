// Tenants: their share of the work, and their limits.
import { api, part } from "../api.js";
import { Action } from "../components/action.js";
import { Loading, Page, Trouble } from "../components/page.js";
import { Pager } from "../components/pager.js";
import { Table } from "../components/table.js";
import { TenantForm } from "../components/tenant-form.js";
import { usePoll } from "../poll.js";
import { Link, to, useLocation } from "../router.js";
import { useSession } from "../session.js";
import { Time } from "../times.js";
import { html, useState } from "../ui.js";

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
