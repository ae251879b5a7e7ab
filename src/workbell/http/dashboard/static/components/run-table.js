// Runs as rows: what each is about, and how many match a filter.
import { useMay } from "../api.js";
import { usePoll } from "../live.js";
import { Link, to } from "../router.js";
import { between, spanText, Stamp, Time, useNow, useZoneName } from "../times.js";
import { html } from "../ui.js";
import { DELIVERY, useEventCounts } from "./events.js";
import { stateOf, Status } from "./status.js";
import { Table } from "./table.js";
import { Inline, Progress } from "./value.js";

// Runs as rows, with a box to choose each where something could be done with it.

const SHORT = 8; // letters of an id, from its end, as the terminal shows them

/**
 * `choose` gets the new set of chosen ids; without it, there are no boxes.
 * @param {{ rows: Api.Run[], chosen?: Set<string>, choose?: (chosen: Set<string>) => void, caption?: string }} props
 */
export function RunTable({ rows, chosen, choose, caption = "Runs" }) {
  const may = useMay("operate");
  const names = useNamesOf(rows);
  const zone = useZoneName();
  const all = rows.length > 0 && rows.every((run) => chosen?.has(run.id));
  /** @param {string} id */
  const toggle = (id) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    choose?.(next);
  };
  /** @type {Column<Api.Run>[]} */
  const columns = [
    ...(may && choose ? [{
      name: "Choose",
      classes: "choose",
      head: html`<input type="checkbox" aria-label="Choose all on this page" checked=${all}
        onChange=${() => choose(all ? new Set() : new Set(rows.map((run) => run.id)))} />`,
      cell: (/** @type {Api.Run} */ run) => html`<input type="checkbox" aria-label=${`Choose run ${run.id}`} checked=${chosen?.has(run.id)} onChange=${() => toggle(run.id)} />`,
    }] : []),
    { name: "Status", classes: "run-status", cell: (run) => html`<${Status} of=${stateOf(run)} /><${Retried} run=${run} />` },
    { name: "Run", classes: "run-job", cell: (run) => html`<${Link} to=${to(["runs", run.id])} class="strong">${run.job} <code class="run-id">${run.id.slice(-SHORT)}</code><//>` },
    {
      name: "Input and result, or error",
      classes: "wide run-input",
      cell: (run) => html`${run.tag && html`<span class="mark" title="Tag">${run.tag}</span> `}<${RunSummary} run=${run} names=${names} />`,
    },
    { name: "Queue", classes: "run-queue", cell: (run) => run.queue },
    { name: "Attempt", classes: "number run-try", cell: (run) => run.attempt || "–" },
    { name: "Took", classes: "number run-took", cell: (run) => html`<${Took} run=${run} />` },
    { name: `Created, ${zone}`, classes: "when run-when", cell: (run) => html`<${Stamp} at=${run.created_at} />` },
  ];
  return html`<${Table} class="runs" caption=${caption} columns=${columns} rows=${rows} rowLink />`;
}

/**
 * What became of its retry.
 * @param {{ run: Api.Run }} props
 */
function Retried({ run }) {
  if (!run.retried_by) return null;
  return html`<span class="retried faint">↻ retried: <${Link} to=${to(["runs", run.retried_by.id])}>${run.retried_by.status}<//></span>`;
}

/**
 * How long a run took, or is taking; of one that has its time before it, when it is due.
 * @param {{ run: Api.Run }} props
 */
export function Took({ run }) {
  if (run.status === "scheduled") return html`due <${Time} at=${run.scheduled_for} ago />`;
  if (run.status === "running" && run.started_at) return html`<${Since} at=${run.started_at} />`;
  return spanText(between(run.started_at, run.finished_at));
}

/** @param {{ at: string }} props */
function Since({ at }) {
  const seconds = Math.max(0, Math.round((useNow() - Date.parse(at)) / 1000));
  return seconds < 60 ? `${seconds} s` : spanText(seconds);
}

// What a run is about, on one line: its progress, its error, the event it is for, or its input and what came of it.

const ENDPOINTS_PAUSE = 30; // seconds: they seldom change

/**
 * Of rows that stand together: the types of their events, and the URLs of their endpoints, by id.
 * @param {Api.Run[]} rows
 */
function useNamesOf(rows) {
  const events = useEventCounts([...new Set(rows.flatMap((run) => run.event ?? []))]);
  const { data } = usePoll(rows.some((run) => run.job === DELIVERY) ? "/webhooks" : null, {}, ENDPOINTS_PAUSE);
  return { events, endpoints: new Map((data?.items ?? []).map((one) => [one.id, one.url])) };
}

/**
 * `names` as `useNamesOf` tells them.
 * @param {{ run: Api.Run, names: ReturnType<typeof useNamesOf> }} props
 */
function RunSummary({ run, names }) {
  if (run.status === "running" && run.progress) return html`<${Progress} progress=${run.progress} />`;
  if (run.status === "failed" && run.error) return html`<span class="run-error"><${Inline} value=${run.error.trim().split("\n")[0]} /></span>`;
  return html`<${About} run=${run} names=${names} />${(run.result ?? null) !== null && html` <span class="run-result">→ <${Inline} value=${resultOf(run)} /></span>`}`;
}

/** @param {{ run: Api.Run, names: ReturnType<typeof useNamesOf> }} props */
function About({ run, names }) {
  if (!run.event) return html`<${Inline} value=${run.input} />`;
  const type = names.events.get(run.event)?.type ?? `event …${run.event.slice(-8)}`;
  if (run.job !== DELIVERY) return html`<${Inline} value=${type} />`;
  return html`<${Inline} value=${`${type} to ${names.endpoints.get(String(run.input.endpoint))?.replace(/^https?:\/\//, "") ?? (run.input.endpoint ? "an endpoint" : "all endpoints")}`} />`;
}

/**
 * Of a delivery, what was answered.
 * @param {Api.Run} run
 */
const resultOf = ({ job, result }) => {
  const code = job === DELIVERY && /** @type {{ status_code?: number } | null} */ (result)?.status_code;
  return code ? String(code) : result;
};

// How many runs match a filter, counted again every few seconds.

const PAUSE = 5; // seconds
const ONCE = 0;

/**
 * `{count, capped}` of GET /runs/count, or null before the first answer. `query` is in the words of GET /runs; without one
 * nothing is asked. A field of the input is searched run by run, so such a filter is counted once.
 * @param {Api.Words | null | undefined} query
 */
export function useRunCount(query) {
  const dear = Object.keys(query ?? {}).some((name) => name.startsWith("input."));
  return usePoll(query ? "/runs/count" : null, query ?? {}, dear ? ONCE : PAUSE).data;
}
