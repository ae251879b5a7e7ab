// Sending one event to an endpoint once more.
import { api, part } from "../api.js";
import { html } from "../ui.js";
import { Action } from "./action.js";

const ENDED = new Set(["succeeded", "failed", "canceled"]);

/**
 * Sends the event once more. One that still waits for its next try is canceled first, lest it be sent twice.
 * @param {{ endpoint: Api.Endpoint, delivery: Pick<Api.Delivery, "id" | "event" | "status">, done: Reload, classes?: string }} props
 */
export function Resend({ endpoint, delivery, done, classes = "" }) {
  const ended = ENDED.has(delivery.status);
  if (!delivery.event || !endpoint.enabled || !(ended || delivery.status === "scheduled")) return null;
  const run = async () => {
    if (!ended) await api.post(`/runs/${part(delivery.id)}/cancel`, { reason: "sent again by hand" });
    const { items } = await api.post(`/webhooks/${part(endpoint.id)}/replay`, { event: delivery.event });
    await done?.();
    return items.length ? "It is sent again, as a new delivery." : "Somebody else has just sent it again.";
  };
  const twice = { title: "Send it again?", text: "It was delivered already: the receiver gets it a second time.", action: "Send again", calm: true };
  return html`<${Action} label=${ended ? "Resend" : "Send now"} classes=${classes} ask=${delivery.status === "succeeded" ? twice : undefined} run=${run} />`;
}
