// What needs somebody, in one line each: queues that are paused, endpoints that fail, what the doctor calls at risk.
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { useSession } from "../session.js";
import { html } from "../ui.js";

const ENDPOINTS = 5; // seconds between two questions
const DOCTOR = 60;

/**
 * `queues` as GET /queues tells them.
 * @param {{ queues: Api.Queue[] | undefined }} props
 */
export function Attention({ queues }) {
  const everything = useSession().tenant === "*";
  const { data: endpoints } = usePoll("/webhooks", {}, ENDPOINTS);
  const { data: doctor } = usePoll(everything ? "/doctor" : null, {}, DOCTOR);
  const lines = [...pausedLines(queues ?? []), ...endpointLines(endpoints?.items ?? []), ...doctorLines(doctor?.items ?? [])];
  if (!lines.length) return null;
  return html`<ul class="attention notice" aria-label="What needs attention">
    ${lines.map(({ address, text }) => html`<li key=${address}><${Link} to=${address}>${text}<//></li>`)}
  </ul>`;
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} many
 */
const counted = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** @param {Api.Queue[]} queues */
const pausedLines = (queues) =>
  queues
    .filter((queue) => queue.paused)
    .map((queue) => ({ address: to(["queues", queue.name]), text: `Queue ${queue.name} is paused; ${counted(queue.queued, "run waits", "runs wait")}.` }));

/** @param {Api.Endpoint[]} endpoints */
function endpointLines(endpoints) {
  const failing = endpoints.filter((one) => one.enabled && one.failing_since);
  const disabled = endpoints.filter((one) => !one.enabled);
  return [
    ...failing.map((one) => ({ address: to(["webhooks", one.id]), text: `Webhook ${one.url}: the last ${counted(one.failures_in_a_row, "attempt", "attempts")} failed.` })),
    ...disabled.map((one) => ({ address: to(["webhooks", one.id]), text: `Webhook ${one.url} is disabled.` })),
  ];
}

/** @param {Api.Finding[]} items */
function doctorLines(items) {
  const wrong = items.filter((one) => one.state === "problem");
  return wrong.length ? [{ address: to(["doctor"]), text: `Doctor, at risk: ${wrong.map((one) => one.name).join(", ")}.` }] : [];
}
