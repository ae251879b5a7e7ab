// Who works: worker processes of every machine, and agents on machines that reach nothing but the API.
import { api, part, useSession } from "../api.js";
import { Action } from "../components/dialog.js";
import { Empty, Facts, Loading, Page, Section, Trouble } from "../components/page.js";
import { Took } from "../components/run-table.js";
import { Status } from "../components/status.js";
import { Table } from "../components/table.js";
import { countText, Progress } from "../components/value.js";
import { usePoll } from "../live.js";
import { Link, to } from "../router.js";
import { Time } from "../times.js";
import { html } from "../ui.js";

export function Workers() {
  const { data, problem, reload } = usePoll("/workers");
  const alive = data?.items.filter((worker) => worker.alive) ?? [];
  const lost = data?.items.filter((worker) => !worker.alive) ?? [];
  return html`
    <${Page} title="Workers" lead="Processes that run jobs, on every machine.">
      <${Trouble} problem=${problem} />
      ${!data && !problem && html`<${Loading} />`}
      ${data && !alive.length && html`<${Empty} code="workbell start">No worker is alive, so nothing runs. Start one:<//>`}
      <div class="columns">${alive.map((worker) => html`<${WorkerCard} key=${worker.id} worker=${worker} reload=${reload} />`)}</div>
      ${lost.length > 0 && html`<${Section} title="Lost in the last day">
        <div class="columns">${lost.map((worker) => html`<${WorkerCard} key=${worker.id} worker=${worker} reload=${reload} />`)}</div>
      <//>`}
      <${Section} title="Agents"><${AgentTable} /><//>
    <//>
  `;
}

// One worker: where it is, what it is doing, when it was seen, and draining it.

/** @param {{ worker: Api.Worker, reload: Reload }} props */
function WorkerCard({ worker, reload }) {
  const state = workerState(worker);
  const title = html`${workerName(worker)} <span class="faint">${worker.pid || ""}</span> <${Status} of=${state} />`;
  return html`
    <${Section} title=${title} actions=${worker.alive && html`<${Drain} worker=${worker} reload=${reload} />`}>
      <${Facts} facts=${[
        [worker.host ? "Busy" : "Your runs", worker.host ? `${worker.busy} of ${worker.concurrency}` : `${worker.busy}`],
        ["Seen", html`<${Time} at=${worker.seen_at} ago />`],
        ["Started", html`<${Time} at=${worker.started_at} />`],
        ["Drain asked for", worker.drained_at && !worker.drain_seen_at && html`<${Time} at=${worker.drained_at} />`],
        ["Drained since", worker.drain_seen_at && html`<${Time} at=${worker.drain_seen_at} />`],
        ["Queues", worker.queues ? worker.queues.join(", ") : "all"],
        ["Jobs", worker.jobs.length ? html`<span title=${worker.jobs.join(", ")}>${worker.jobs.length} known</span>` : "none"],
        ["Version", worker.version || null],
      ]} />
      ${worker.runs.length > 0 && html`<h3>Doing</h3><${Table} caption=${`What ${workerName(worker)} ${worker.pid || ""} is doing`} rows=${worker.runs} columns=${[
        { name: "Job", cell: (run) => html`<${Link} class="strong" to=${to(["runs", run.id])}>${run.job}<//>` },
        { name: "Progress", classes: "wide", cell: (run) => html`<${Progress} progress=${run.progress} />` },
        { name: "For", classes: "number", cell: (run) => html`<${Took} run=${run} />` },
      ]} />`}
    <//>
  `;
}

/**
 * Workers are shared by all tenants, so only who may act for all of them can drain one.
 * @param {{ worker: Api.Worker, reload: Reload }} props
 */
function Drain({ worker, reload }) {
  const everything = useSession().tenant === "*";
  if (!everything || worker.stopping) return null;
  const path = /** @type {const} */ (`/workers/${part(worker.id)}`);
  if (worker.drained_at) {
    const resume = async () => {
      await api.post(`${path}/resume`);
      await reload();
      return "The worker takes runs again.";
    };
    return html`<${Action} label="Resume" classes="small" run=${resume} />`;
  }
  const drain = async () => {
    await api.post(`${path}/drain`);
    await reload();
    return "The worker takes no more runs within seconds; it finishes what it has.";
  };
  const ask = {
    title: "Drain this worker?",
    text: `${worker.host} ${worker.pid} takes no more runs and finishes what it has. It stays there, and can be resumed.`,
    action: "Drain it",
    keep: "Leave it at work",
  };
  return html`<${Action} label="Drain" classes="small" run=${drain} ask=${ask} />`;
}

// Who is there to work, in brief.

const WORKERS_SHOWN = 8;

/**
 * How a worker is: one word.
 * @param {Api.Worker} worker
 */
function workerState(worker) {
  if (!worker.alive) return "lost";
  if (worker.stopping) return "stopping";
  if (!worker.drained_at) return "alive";
  return worker.drain_seen_at ? "drained" : "draining"; // until it has said that it obeys
}

/**
 * Its host; who may not know that sees an alias.
 * @param {Api.Worker} worker
 */
const workerName = (worker) => worker.host || worker.id;

/** @param {{ workers: Api.Worker[] }} props */
export function WorkerSummary({ workers }) {
  const shown = [...workers].sort((one, other) => Number(other.alive) - Number(one.alive)).slice(0, WORKERS_SHOWN);
  if (!shown.length) return html`<${Empty} code="workbell start">Nobody is there to run anything:<//>`;
  return html`<${Table} caption="Workers" rows=${shown} columns=${/** @type {Column<Api.Worker>[]} */ ([
    { name: "Worker", cell: (worker) => html`<${Link} class="strong" to=${to(["workers"])}>${workerName(worker)}<//> <span class="faint">${worker.pid || ""}</span>` },
    { name: "State", cell: (worker) => html`<${Status} of=${workerState(worker)} />` },
    { name: "Busy", classes: "number", cell: (worker) => (worker.host ? `${worker.busy} of ${worker.concurrency}` : worker.busy) },
    { name: "Seen", classes: "when", cell: (worker) => html`<${Time} at=${worker.seen_at} ago />` },
  ])} />`;
}

// Agents: programs on other machines that work over HTTP.

/** @param {Api.Agent} agent */
const agentState = (agent) => (!agent.enabled ? "disabled" : agent.alive ? "alive" : agent.seen_at ? "lost" : "scheduled");
/** @type {{ [state: string]: string }} */
const AGENT_SAYS = { scheduled: "not seen yet", disabled: "switched off" };

function AgentTable() {
  const { data, problem, reload } = usePoll("/agents");
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  if (!data.items.length) {
    return html`<${Empty} code="workbell agents pair --name web-1">No agent is paired. This prints what another machine needs:<//>`;
  }
  return html`<${Table} caption="Agents" rows=${data.items} columns=${/** @type {Column<Api.Agent>[]} */ ([
    { name: "Agent", cell: (agent) => html`<${Link} class="strong" to=${to(["runs"], { target: agent.name })}>${agent.name}<//>` },
    { name: "State", cell: (agent) => html`<${Status} of=${agentState(agent)} says=${AGENT_SAYS[agentState(agent)]} />` },
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
