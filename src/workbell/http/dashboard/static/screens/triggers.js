// Triggers: which events start which jobs; switched, added and removed here.
import { AddTrigger, DELIVERY } from "../components/trigger-add.js";
import { Action } from "../components/action.js";
import { Empty, Loading, Trouble } from "../components/page.js";
import { Status } from "../components/status.js";
import { Table } from "../components/table.js";
import { api, part } from "../api.js";
import { usePoll } from "../poll.js";
import { Link, to, useLocation } from "../router.js";
import { useMay } from "../session.js";
import { Time } from "../times.js";
import { html } from "../ui.js";

export function Triggers() {
  const { data, problem, reload } = usePoll("/triggers", {}, 3);
  const { data: executions } = usePoll("/executions", { limit: 100 }, 5);
  const may = useMay("operate");
  const one = useLocation().query.get("trigger"); // the only one that is shown, if the address names it
  if (!data) return html`<${Trouble} problem=${problem} />${!problem && html`<${Loading} />`}`;
  const shown = one ? data.items.filter((trigger) => trigger.id === one) : data.items;
  const last = new Map([...(executions?.items ?? [])].reverse().map((one) => [one.job_id ?? "", one]));
  return html`
    <${Trouble} problem=${problem} />
    <div class="bulk"><${AddTrigger} done=${reload} />${one && html`<${Link} to=${to(["events"], { view: "triggers" })}>All ${data.items.length} triggers<//>`}</div>
    ${one && !shown.length && html`<${Empty}>This trigger was removed.<//>`}
    ${
      data.items.length
        ? shown.length > 0 && html`<${Table} caption="Triggers" columns=${columnsOf(last, reload, may)} rows=${shown} />`
        : html`<${Empty} code=${'@bell.on("orders.*")\ndef placed(event: Event) -> None: ...'}>No events start a job yet. In code:<//>
            <${Empty} code="workbell triggers add mails --pattern 'orders.*' --job mail">Or by hand, for a job that takes an event:<//>`
    }
  `;
}

/**
 * @param {Map<string, Api.Execution>} last
 * @param {Reload} reload
 * @param {boolean} may
 * @returns {Column<Api.Trigger>[]}
 */
const columnsOf = (last, reload, may) =>
  [
    { name: "Trigger", classes: "wide", by: (one) => one.name, cell: (one) => html`<div><strong>${one.name}</strong>${one.description && html`<p class="faint">${one.description}</p>`}</div>` },
    { name: "Pattern", cell: (one) => html`<${Link} to=${to(["events"], { type: one.event_pattern })}><code>${one.event_pattern}</code><//>` },
    { name: "Starts", by: (one) => one.processor_name, cell: (one) => html`<${Link} to=${to(one.processor_name === DELIVERY ? ["webhooks"] : ["jobs", one.processor_name])}>${one.processor_name}<//>` },
    { name: "State", cell: (one) => html`<${Status} of=${one.enabled ? "enabled" : "disabled"} />` },
    { name: "Created", classes: "when", cell: (one) => (one.source === "api" ? "by hand" : html`<span>in code <code class="inline">${one.source.replace(/^code:/, "")}</code></span>`) },
    { name: "Last", classes: "when", cell: (one) => html`<${Last} execution=${last.get(one.id)} />` },
    ...(may ? [{ name: "Actions", hidden: true, cell: (/** @type {Api.Trigger} */ one) => html`<${Actions} trigger=${one} reload=${reload} />` }] : []),
  ];

const STATUSES = { pending: "queued", running: "running", completed: "succeeded", failed: "failed" };

/** @param {{ execution: Api.Execution | undefined }} props */
function Last({ execution }) {
  if (!execution) return html`<span class="faint">–</span>`;
  return html`<${Link} to=${to(["runs", execution.id])}><${Status} of=${STATUSES[execution.status]} /> <${Time} at=${execution.created_at} ago /><//>`;
}

/** @param {{ trigger: Api.Trigger, reload: Reload }} props */
function Actions({ trigger, reload }) {
  const path = /** @type {const} */ (`/triggers/${part(trigger.id)}`);
  const turn = async () => {
    await api.post(`${path}/${trigger.enabled ? "disable" : "enable"}`);
    await reload();
    return `${trigger.name} is ${trigger.enabled ? "disabled" : "enabled"}.`;
  };
  const remove = async () => {
    await api.remove(path);
    await reload();
    return `${trigger.name} is removed.`;
  };
  const inCode = trigger.source === "api" ? "" : " Code declares it, so it comes back while that code runs; disable it instead.";
  const ask = { title: `Remove ${trigger.name}?`, text: `Events that match start nothing more; its runs stay.${inCode}`, action: "Remove" };
  return html`<div class="actions trigger-actions">
    <${Action} label=${trigger.enabled ? "Disable" : "Enable"} classes="small" run=${turn} />
    <${Action} label="Remove" classes="small danger" ask=${ask} run=${remove} />
  </div>`;
}
