// All endpoints: where events are sent, which, and how it goes.
import { AddEndpoint } from "../components/endpoint-form.js";
import { EndpointState, Health } from "../components/endpoint-health.js";
import { Empty, Loading, Page, Trouble } from "../components/page.js";
import { Table } from "../components/table.js";
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { html } from "../ui.js";

const COMMAND = "workbell webhooks add https://shop.example/hooks --pattern 'orders.*'";

export function EndpointList() {
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
