// Who works: worker processes of every machine, and agents on machines that reach nothing but the API.
import { AgentTable } from "../components/agent-table.js";
import { Empty, Loading, Page, Section, Trouble } from "../components/page.js";
import { WorkerCard } from "../components/worker-card.js";
import { usePoll } from "../poll.js";
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
