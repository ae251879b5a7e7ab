// Queues: what waits in each; one of them with its jobs and their limits.
import { LimitTable } from "../components/limit-table.js";
import { Empty, Facts, Loading, Page, Section, Trouble } from "../components/page.js";
import { PauseQueue, QueueState, QueueTable } from "../components/queue-table.js";
import { Throughput } from "../components/throughput.js";
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { spanText, Time } from "../times.js";
import { html } from "../ui.js";

const CODE = '@bell.job(queue="mails")\ndef send(to: str) -> None: ...';

/** @param {{ parts: string[] }} props */
export function Queues({ parts }) {
  return parts.length ? html`<${Queue} name=${parts[0]} />` : html`<${QueueList} />`;
}

function QueueList() {
  const { data, problem, reload } = usePoll("/queues");
  return html`
    <${Page} title="Queues" lead="Where runs wait. A worker takes from all queues, unless it was started for some.">
      <${Trouble} problem=${problem} />
      ${!data && !problem && html`<${Loading} />`}
      ${data?.items.length === 0 && html`<${Empty} code=${CODE}>There is no queue yet. A job names its own:<//>`}
      ${data && data.items.length > 0 && html`<${QueueTable} queues=${data.items} reload=${reload} />`}
    <//>
  `;
}

/** @param {{ name: string }} props */
function Queue({ name }) {
  const { data, problem, reload } = usePoll("/queues");
  const tallies = usePoll("/tallies", { minutes: 60, queue: name }, 5);
  const queue = data?.items.find((one) => one.name === name);
  const lead = html`<${Link} to=${to(["queues"])}>All queues<//>`;
  if (!data) return html`<${Page} title=${name} lead=${lead}><${Trouble} problem=${problem} />${!problem && html`<${Loading} />`}<//>`;
  if (!queue) return html`<${Page} title=${name} lead=${lead}><${Empty}>Nothing waits in a queue of this name, and no job names it.<//><//>`;
  return html`
    <${Page} title=${name} lead=${lead} actions=${html`<${PauseQueue} queue=${queue} reload=${reload} />`}>
      <${Trouble} problem=${problem} />
      <${Section} title="Now">
        <${Facts} facts=${[
          ["State", html`<${QueueState} queue=${queue} />`],
          ["Paused since", queue.paused_since && html`<${Time} at=${queue.paused_since} />`],
          ["Jobs paused here", queue.paused_jobs.map((one) => one.job).join(", ")],
          ["Running", html`<${Link} to=${to(["runs"], { queue: name, status: "running" })}>${queue.running.toLocaleString("en")}<//>`],
          ["Queued", html`<${Link} to=${to(["runs"], { queue: name, status: "queued" })}>${queue.queued.toLocaleString("en")}<//>`],
          ["Scheduled", html`<${Link} to=${to(["runs"], { queue: name, status: "scheduled" })}>${queue.scheduled.toLocaleString("en")}<//>`],
          ["Oldest wait", queue.oldest_wait_seconds ? spanText(queue.oldest_wait_seconds) : "none"],
        ]} />
      <//>
      <${Section} title="Finished in the last hour">
        ${tallies.data ? html`<${Throughput} tallies=${tallies.data} height=${160} />` : html`<${Trouble} problem=${tallies.problem} />${!tallies.problem && html`<${Loading} />`}`}
      <//>
      <${Section} title="Jobs and their limits"><${LimitTable} queue=${queue} reload=${reload} /><//>
    <//>
  `;
}
