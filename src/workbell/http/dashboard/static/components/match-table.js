// What an event matched, and what came of each: a run with its status of now, or why there is none.
import { part } from "../api.js";
import { useLive } from "../live.js";
import { usePoll } from "../poll.js";
import { Link, to, useLocation } from "../router.js";
import { html } from "../ui.js";
import { Empty, Loading, Trouble } from "./page.js";
import { Pager } from "./pager.js";
import { Status } from "./status.js";
import { Table } from "./table.js";

/** @param {{ event: Api.Event }} props */
export function MatchTable({ event }) {
  const after = useLocation().query.get("after");
  const { data, problem } = usePoll(event.fanned_out_at ? `/events/${part(event.id)}/matches` : null, { after, limit: 100 }, 2);
  const { rows: runs } = useLive("runs", { event: event.id, limit: 200 });
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!event.fanned_out_at) return html`<p class="faint">Nothing yet.</p>`;
  if (!data) return html`<${Loading} />`;
  if (!data.items.length && !after) return html`<${Unheard} event=${event} />`;
  /** @type {Column<Api.Match>[]} */
  const columns = [
    { name: "Kind", cell: (match) => match.kind ?? "removed since" },
    { name: "Name", classes: "wide", cell: (match) => html`<${Subscriber} match=${match} />` },
    { name: "Outcome", cell: (match) => html`<${Outcome} match=${match} run=${runs?.get(match.run ?? "")} />` },
    { name: "Run", classes: "when", cell: (match) => html`<${RunOf} match=${match} />` },
  ];
  return html`
    <${Table} caption="What the event matched" columns=${columns} rows=${data.items} keyOf=${(match) => match.subscriber} />
    <${Pager} next=${data.next} name="after" first="« First" further="More »" />
  `;
}

/** @param {{ event: Api.Event }} props */
function Unheard({ event }) {
  const first = event.type.split(".")[0];
  return html`<${Empty} code=${`workbell triggers add NAME --pattern '${first}.*' --job JOB`}>
    Nothing matches <code>${event.type}</code>: no trigger or endpoint had a pattern for it.
  <//>`;
}

/** @param {{ match: Api.Match }} props */
function Subscriber({ match }) {
  if (match.kind === "endpoint") return html`<${Link} to=${to(["webhooks", match.subscriber])}>${match.name}<//>`;
  if (match.kind === "trigger") return html`<${Link} to=${to(["events"], { view: "triggers", trigger: match.subscriber })}>${match.name}<//>`;
  return html`<code>${match.subscriber}</code>`;
}

/** @type {{ [outcome: string]: string[] }} */
const SAID = { disabled: ["disabled", "it was disabled"], too_deep: ["warning", "the chain of events is too long"] };

/** @param {{ match: Api.Match, run: Api.Run | undefined }} props */
function Outcome({ match, run }) {
  if (run) return html`<${Status} of=${run.status} />`;
  const [state, says] = SAID[match.outcome] ?? ["ok", match.outcome];
  return html`<div class="roomy"><${Status} of=${state} says=${says} />${match.reason && html`<p class="faint">${match.reason}</p>`}</div>`;
}

/**
 * A delivery is shown with its endpoint, where its answers are.
 * @param {{ match: Api.Match }} props
 */
function RunOf({ match }) {
  if (!match.run) return "";
  const address = match.kind === "endpoint" ? to(["webhooks", match.subscriber], { delivery: match.run }) : to(["runs", match.run]);
  return html`<${Link} to=${address}>${match.kind === "endpoint" ? "delivery" : "run"} …${match.run.slice(-6)}<//>`;
}
