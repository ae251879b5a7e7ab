// What a run is about, on one line: its progress, its error, the event it is for, or its input and what came of it.
import { usePoll } from "../poll.js";
import { html } from "../ui.js";
import { useEventCounts } from "./event-counts.js";
import { Progress } from "./progress.js";
import { Inline } from "./value.js";

const DELIVERY = "webhook-delivery"; // the job of Workbell's own that sends an event to an endpoint
const ENDPOINTS = 30; // seconds: they seldom change

/**
 * Of rows that stand together: the types of their events, and the URLs of their endpoints, by id.
 * @param {Api.Run[]} rows
 */
export function useNamesOf(rows) {
  const events = useEventCounts([...new Set(rows.flatMap((run) => run.event ?? []))]);
  const { data } = usePoll(rows.some((run) => run.job === DELIVERY) ? "/webhooks" : null, {}, ENDPOINTS);
  return { events, endpoints: new Map((data?.items ?? []).map((one) => [one.id, one.url])) };
}

/**
 * `names` as `useNamesOf` tells them.
 * @param {{ run: Api.Run, names: ReturnType<typeof useNamesOf> }} props
 */
export function RunSummary({ run, names }) {
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
