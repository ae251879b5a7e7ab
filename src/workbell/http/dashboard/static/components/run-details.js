// The particulars of a run, each a way to the other runs that share it.
import { stringify } from "../json.js";
import { Link, to } from "../router.js";
import { useSession } from "../session.js";
import { spanText, Time } from "../times.js";
import { html } from "../ui.js";
import { Facts, Section } from "./page.js";

// Fields that other parts of the page show.
const ELSEWHERE = [
  ...["job", "status", "attempt", "started_at", "finished_at", "updated_at", "input", "result", "error", "reason", "progress"],
  ...["schedule", "event", "parent", "retry_of", "rescheduled_from", "retried_by", "cancel_requested"],
];

/** @param {{ run: Api.Run }} props */
export function RunDetails({ run }) {
  const everything = useSession().tenant === "*";
  /**
   * @param {"queue" | "tag" | "target" | "user_id"} name
   * @param {string | number | null} [value]
   */
  const other = (name, value = run[name]) => value && html`<${Link} to=${to(["runs"], { [name]: value })}>${value}<//>`;
  /** @type {Record<string, readonly [string, Child]>} */
  const facts = {
    queue: ["Queue", other("queue")],
    tag: ["Tag", other("tag")],
    key: ["Key", run.key && html`<code>${run.key}</code>`],
    priority: ["Priority", run.priority !== 0 && String(run.priority)],
    user_id: ["User", other("user_id", run.user_id ? String(run.user_id) : null)],
    target: ["Target", other("target")],
    tenant: ["Tenant", (everything || run.tenant !== "default") && run.tenant],
    created_at: ["Created", html`<${Time} at=${run.created_at} />`],
    scheduled_for: ["Due", html`<${Time} at=${run.scheduled_for} />`],
    expires_at: ["Expires", run.expires_at && html`<${Time} at=${run.expires_at} />`],
    timeout: ["Timeout", run.timeout !== null && spanText(run.timeout)],
    auto_reschedule: ["Reschedules", run.auto_reschedule !== null && `${spanText(run.auto_reschedule)} after a failure`],
    remove_delay: ["Kept for", run.remove_delay !== null && `${spanText(run.remove_delay)} after the end`],
    remove_at: ["Kept until", run.remove_at && html`<${Time} at=${run.remove_at} />`],
    error_type: ["Error type", run.status !== "succeeded" && run.error_type && html`<code>${run.error_type}</code>`],
    failures: ["Failures", run.failures > 0 && String(run.failures)],
    losses: ["Lost by a worker", run.losses > 0 && `${run.losses}×`],
    persistent: ["Lives", !run.persistent && "only as long as the server that accepted it"],
    id: ["Run", html`<code>${run.id}</code>`],
  };
  const others = Object.entries(run).filter(([name]) => !(name in facts) && !ELSEWHERE.includes(name));
  return html`
    <${Section} title="Details">
      <${Facts} facts=${[...Object.values(facts), ...others.map(plainFact)]} />
    <//>
  `;
}

/**
 * A field that this page knows nothing else about: its name and its value.
 * @param {[string, unknown]} field
 * @returns {readonly [string, Child]}
 */
function plainFact([name, value]) {
  const label = name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
  if (!value) return [label, null];
  return [label, typeof value === "string" ? value : html`<code>${stringify(value)}</code>`];
}
