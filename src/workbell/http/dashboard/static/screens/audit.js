// The audit log: what operators did, to what, when and from where.
import { useSession } from "../api.js";
import { Empty, Loading, Page, Pager, Trouble } from "../components/page.js";
import { Table } from "../components/table.js";
import { Inline } from "../components/value.js";
import { usePoll } from "../live.js";
import { Link, to, useLocation } from "../router.js";
import { Stamp, useZoneName } from "../times.js";
import { html } from "../ui.js";

export function Audit() {
  const { query } = useLocation();
  const zone = useZoneName();
  const everything = useSession().tenant === "*";
  const all = everything && query.get("every") === "true";
  const { data, problem } = usePoll("/audit", { limit: 50, before: query.get("before"), every_tenant: all ? "true" : null }, 5);
  const actions = everything && html`<${Link} class="button" to=${to(["audit"], { every: all ? "" : "true" })}>${all ? "Only this tenant" : "All tenants"}<//>`;
  return html`
    <${Page} title="Audit" lead="What operators did: over the API, on this page and at the command line." actions=${actions}>
      <${Trouble} problem=${problem} />
      ${!data && !problem && html`<${Loading} />`}
      ${data?.items.length === 0 && html`<${Empty} code="workbell audit">No operator has done anything yet. The command line shows the same:<//>`}
      ${data && data.items.length > 0 && html`<${Table} caption="Audit log" rows=${data.items} columns=${/** @type {Column<Api.Audit>[]} */ ([
        { name: `When, ${zone}`, classes: "when", cell: (entry) => html`<${Stamp} at=${entry.at} />` },
        { name: "Who", classes: "audit-who", cell: (entry) => html`<strong>${entry.actor}</strong>` },
        { name: "Did", cell: (entry) => html`<code>${entry.action}</code>` },
        { name: "To what", classes: "audit-subject", cell: (entry) => entry.subject },
        ...(all ? [{ name: "Tenant", cell: (/** @type {Api.Audit} */ entry) => entry.tenant }] : []),
        { name: "From", cell: (entry) => entry.address ?? "–" },
        { name: "Details", classes: "wide", cell: (entry) => html`<${Details} detail=${entry.detail} />` },
      ])} />`}
      <${Pager} next=${data?.next} />
    <//>
  `;
}

/**
 * What is known of the action; and the ids of the actor, which tell it from others of its name: whole where one points at them.
 * @param {{ detail: unknown }} props
 */
function Details({ detail }) {
  if (detail === null || typeof detail !== "object" || Array.isArray(detail)) return detail && html`<${Inline} value=${detail} />`;
  const { by = {}, ...rest } = /** @type {{ by?: { token?: string, made_with?: string, user_id?: unknown } }} */ (detail);
  const ids = [by.token && `token ${by.token}`, by.made_with && `made with ${by.made_with}`, by.user_id !== undefined && `user ${by.user_id}`].filter((one) => typeof one === "string");
  return html`
    ${Object.keys(rest).length > 0 && html`<${Inline} value=${rest} />`}
    ${ids.length > 0 && html` <span class="faint" title=${ids.join(", ")}>${ids.map(short).join(", ")}</span>`}
  `;
}

/** @param {string} words */
const short = (words) => words.replace(/\S{12,}$/, (id) => `…${id.slice(-8)}`);
