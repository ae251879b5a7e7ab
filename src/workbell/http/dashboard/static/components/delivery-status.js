// The status of a delivery, in words that fit one.
import { html } from "../ui.js";
import { Status } from "./status.js";

/** @type {{ [status: string]: string }} */
const SAID = { succeeded: "delivered", scheduled: "to be retried" };

/**
 * In the words of deliveries: one that has failed a try, and will be tried again, is scheduled.
 * @param {{ delivery: Pick<Api.Delivery, "status" | "attempts"> }} props
 */
export function DeliveryStatus({ delivery }) {
  const says = delivery.status === "scheduled" && !delivery.attempts ? "scheduled" : SAID[delivery.status];
  return html`<${Status} of=${delivery.status} says=${says} />`;
}
