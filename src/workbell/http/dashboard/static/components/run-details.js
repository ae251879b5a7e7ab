// The particulars of a run, each a way to the other runs that share it.
import { Link, to } from "../router.js";
import { useSession } from "../session.js";
import { Time } from "../times.js";
import { html } from "../ui.js";
import { Facts, Section } from "./page.js";

export function RunDetails({ run }) {
  const everything = useSession().tenant === "*";
  const other = (name, value = run[name]) => value && html`<${Link} to=${to(["runs"], { [name]: value })}>${value}<//>`;
  return html`
    <${Section} title="Details">
      <${Facts} facts=${[
        ["Queue", other("queue")],
        ["Tag", other("tag")],
        ["Key", run.key && html`<code>${run.key}</code>`],
        ["Priority", run.priority !== 0 && String(run.priority)],
        ["User", other("user_id", run.user_id ? String(run.user_id) : null)],
        ["Target", other("target")],
        ["Tenant", (everything || run.tenant !== "default") && run.tenant],
        ["Created", html`<${Time} at=${run.created_at} />`],
        ["Due", html`<${Time} at=${run.scheduled_for} />`],
        ["Expires", run.expires_at && html`<${Time} at=${run.expires_at} />`],
        ["Kept until", run.remove_at && html`<${Time} at=${run.remove_at} />`],
        ["Error type", run.status !== "succeeded" && run.error_type && html`<code>${run.error_type}</code>`],
        ["Failures", run.failures > 0 && String(run.failures)],
        ["Lost by a worker", run.losses > 0 && `${run.losses}×`],
        ["Lives", !run.persistent && "only as long as the server that accepted it"],
        ["Run", html`<code>${run.id}</code>`],
      ]} />
    <//>
  `;
}
