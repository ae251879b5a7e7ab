// Agents: programs on other machines that work over HTTP.
import { api, part } from "../api.js";
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { Time } from "../times.js";
import { html } from "../ui.js";
import { Action } from "./action.js";
import { Empty, Loading, Trouble } from "./page.js";
import { Status } from "./status.js";
import { Table } from "./table.js";
import { countText } from "./value.js";

/** @param {Api.Agent} agent */
const stateOf = (agent) => (!agent.enabled ? "disabled" : agent.alive ? "alive" : agent.seen_at ? "lost" : "scheduled");
/** @type {{ [state: string]: string }} */
const SAID = { scheduled: "not seen yet", disabled: "switched off" };

export function AgentTable() {
  const { data, problem, reload } = usePoll("/agents");
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  if (!data.items.length) {
    return html`<${Empty} code="workbell agents pair --name web-1">No agent is paired. This prints what another machine needs:<//>`;
  }
  return html`<${Table} caption="Agents" rows=${data.items} columns=${/** @type {Column<Api.Agent>[]} */ ([
    { name: "Agent", cell: (agent) => html`<${Link} class="strong" to=${to(["runs"], { target: agent.name })}>${agent.name}<//>` },
    { name: "State", cell: (agent) => html`<${Status} of=${stateOf(agent)} says=${SAID[stateOf(agent)]} />` },
    { name: "Labels", cell: (agent) => agent.labels.join(", ") || "none" },
    { name: "Can run", classes: "wide", cell: (agent) => (agent.jobs ? agent.jobs.join(", ") : html`<span class="faint">not told</span>`) },
    { name: "Doing", cell: (agent) => html`<${Doing} agent=${agent} />` },
    { name: "Where", cell: (agent) => `${agent.host} ${agent.version}` },
    { name: "Seen", classes: "when", cell: (agent) => html`<${Time} at=${agent.seen_at} ago />` },
    { name: "Actions", hidden: true, classes: "number", cell: (agent) => html`<${Switch} agent=${agent} reload=${reload} />` },
  ])} />`;
}

/** @param {{ agent: Api.Agent }} props */
function Doing({ agent }) {
  const { data, problem } = usePoll("/runs/count", { target: agent.name, status: "running" }, 5);
  if (!data) return problem ? "–" : "…";
  return html`<${Link} to=${to(["runs"], { target: agent.name, status: "running" })}>${data.count ? `${countText(data)} running` : "nothing"}<//>`;
}

/** @param {{ agent: Api.Agent, reload: Reload }} props */
function Switch({ agent, reload }) {
  const change = async () => {
    await api.patch(`/agents/${part(agent.name)}`, { enabled: !agent.enabled });
    await reload();
    return agent.enabled ? `${agent.name} is switched off: it is handed nothing more.` : `${agent.name} works again.`;
  };
  const forget = async () => {
    await api.remove(`/agents/${part(agent.name)}`);
    await reload();
    return `${agent.name} is forgotten.`;
  };
  const off = { title: `Drain the agent ${agent.name}?`, text: "It is handed nothing more until it is switched on again.", action: "Drain it", keep: "Leave it at work" };
  const gone = { title: `Forget the agent ${agent.name}?`, text: "Its token is revoked; to come back, it must be paired again.", action: "Forget it", word: agent.name };
  return html`<span class="actions">
    <${Action} label=${agent.enabled ? "Drain" : "Switch on"} classes="small" needs="admin" run=${change} ask=${agent.enabled ? off : undefined} />
    <${Action} label="Forget" classes="small danger" needs="admin" run=${forget} ask=${gone} />
  </span>`;
}
