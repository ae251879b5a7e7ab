// One delivery, opened: every try with what the receiver answered.
import { part } from "../api.js";
import { usePoll } from "../poll.js";
import { Link, to } from "../router.js";
import { between, spanText, Time } from "../times.js";
import { html } from "../ui.js";
import { Resend } from "./delivery-resend.js";
import { DeliveryStatus } from "./delivery-status.js";
import { Dialog } from "./dialog.js";
import { Facts, Loading, Trouble } from "./page.js";
import { Status } from "./status.js";
import { Block } from "./value.js";

/** @param {{ id: string, endpoint: Api.Endpoint, close: () => void, done: Reload }} props */
export function DeliveryDialog({ id, endpoint, close, done }) {
  const { data: run, problem } = usePoll(`/runs/${part(id)}`, {}, 1);
  const { data: tries } = usePoll(`/webhooks/deliveries/${part(id)}/attempts`, {}, 1);
  const again = async () => {
    close();
    await done();
  };
  return html`
    <${Dialog} title="Delivery" onClose=${close} wide>
      <${Trouble} problem=${problem} />
      ${
        run && tries
          ? html`
              <${Facts} facts=${factsOf(run)} />
              ${tries.items.length === 0 && html`<p class="faint">There was no attempt yet; a worker makes it.</p>`}
              <ol class="tries">${[...tries.items].reverse().map((one) => html`<${Try} key=${one.number} one=${one} />`)}</ol>
              <div class="dialog-foot">
                <${Resend} endpoint=${endpoint} delivery=${run} done=${again} classes="primary" />
                <button type="button" onClick=${close}>Close</button>
              </div>
            `
          : !problem && html`<${Loading} />`
      }
    <//>
  `;
}

/** @param {Api.Run} run */
const factsOf = (run) => [
  ["Status", html`<${DeliveryStatus} delivery=${{ status: run.status, attempts: run.attempt }} />`],
  ["Event", run.event && html`<${Link} to=${to(["events", run.event])}>${run.event}<//>`],
  ["Run", html`<${Link} to=${to(["runs", run.id])}>${run.id}<//>`],
  ["Created", html`<${Time} at=${run.created_at} />`],
  ["Next attempt", run.status === "scheduled" && html`<${Time} at=${run.scheduled_for} />`],
  ["Why canceled", run.status === "canceled" && run.reason],
];

/** @param {{ one: Api.Attempt }} props */
function Try({ one }) {
  const answer = /** @type {{ duration_ms?: number, status_code?: number, answer?: string }} */ (one.result ?? {});
  const took = answer.duration_ms ? answer.duration_ms / 1000 : between(one.started_at, one.finished_at);
  return html`<li>
    <h3>Attempt ${one.number} <${Status} of=${one.status} says=${one.status === "succeeded" ? "delivered" : undefined} /></h3>
    <p class="faint"><${Time} at=${one.started_at} />${one.finished_at && html`, took ${spanText(took)}`}${one.worker && html`, by <code>${one.worker}</code>`}</p>
    ${one.error && html`<p class="wrong">${one.error}</p>`}
    ${answer.status_code && !one.error && html`<p>It answered <strong>${answer.status_code}</strong>.</p>`}
    ${answer.answer && html`<${Block} text=${answer.answer} name=${`Answer to attempt ${one.number}`} />`}
  </li>`;
}
