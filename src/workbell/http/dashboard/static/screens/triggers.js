// Triggers: which events start which jobs; switched, added and removed here.
import { api, part, useMay } from "../api.js";
import { Action, Dialog } from "../components/dialog.js";
import { DELIVERY } from "../components/events.js";
import { Choice, Field, SubmitFoot, useSubmit } from "../components/form.js";
import { Empty, Loading, Trouble } from "../components/page.js";
import { Status } from "../components/status.js";
import { Table } from "../components/table.js";
import { toast } from "../components/toasts.js";
import { usePoll } from "../live.js";
import { Link, to, useLocation } from "../router.js";
import { Time } from "../times.js";
import { html, useState } from "../ui.js";

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
    {
      name: "Starts",
      by: (one) => one.processor_name,
      cell: (one) => html`<${Link} to=${to(one.processor_name === DELIVERY ? ["webhooks"] : ["jobs", one.processor_name])}>${one.processor_name}<//>`,
    },
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

// Making a trigger by hand.

const TO_ALL = [DELIVERY, `${DELIVERY} (to all endpoints)`];

/** @param {{ done: Reload }} props */
function AddTrigger({ done }) {
  const [open, setOpen] = useState(false);
  return html`
    <${Action} label="Add a trigger" run=${async () => setOpen(true)} />
    ${open && html`<${Form} done=${done} close=${() => setOpen(false)} />`}
  `;
}

/** @param {{ done: Reload, close: () => void }} props */
function Form({ done, close }) {
  const { data: jobs } = usePoll("/jobs", {}, 0);
  const [words, setWords] = useState({ name: "", event_pattern: "", processor_name: "", description: "" });
  /** @param {keyof typeof words} name */
  const field = (name) => ({ value: words[name], onChange: (/** @type {string} */ text) => setWords({ ...words, [name]: text }) });
  const processors = (jobs?.items ?? []).filter((job) => job.processor).map((job) => job.name);
  const { send, busy, problem } = useSubmit(async () => {
    const made = await api.post("/triggers", words);
    toast(`${made.event_pattern} starts ${made.processor_name} from now on.`);
    close();
    await done();
  });
  return html`
    <${Dialog} title="Add a trigger" onClose=${close}>
      <form class="form" onSubmit=${send}>
        <${Field} label="Name" ...${field("name")} required maxlength="200" />
        <${Field} label="Pattern" ...${field("event_pattern")} required maxlength="256" placeholder="orders.*"
          hint="* is one word, ** at the end is one or more." />
        <${Choice} label="Job" ...${field("processor_name")} required options=${[["", "choose one"], ...processors, TO_ALL]}
          hint="A job that takes an event, or a delivery to every webhook endpoint." />
        <${Field} label="Description" ...${field("description")} />
        <${SubmitFoot} label="Add trigger" busy=${busy} problem=${problem} close=${close} />
      </form>
    <//>
  `;
}
