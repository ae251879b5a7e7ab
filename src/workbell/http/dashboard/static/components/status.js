// A status as icon, word and colour: never colour alone.
import { html } from "../ui.js";

// Of runs, attempts, ticks, deliveries and checks; one that is not known here is shown as it is.
/** @type {{ [status: string]: string[] }} */
const TONES = {
  succeeded: ["✓", "good"],
  ok: ["✓", "good"],
  fired: ["✓", "good"],
  enabled: ["✓", "good"],
  alive: ["✓", "good"],
  valid: ["✓", "good"],
  stopping: ["‖", "warn"],
  loaded: ["✓", "good"],
  changed: ["✓", "good"],
  running: ["▶", "busy"],
  queued: ["●", "waiting"],
  scheduled: ["◷", "waiting"],
  snoozed: ["◷", "waiting"],
  released: ["↩", "waiting"],
  warning: ["!", "warn"],
  lost: ["?", "warn"],
  coalesced: ["≡", "warn"],
  deferred: ["◷", "waiting"],
  skipped: ["–", "warn"],
  paused: ["‖", "warn"],
  draining: ["‖", "warn"],
  drained: ["‖", "warn"],
  failed: ["✕", "bad"],
  broken: ["✕", "bad"],
  problem: ["✕", "bad"],
  canceled: ["⊘", "off"],
  disabled: ["⊘", "off"],
  removed: ["⊘", "off"],
  revoked: ["⊘", "off"],
  expired: ["⊘", "off"],
};

/**
 * `<${Status} of="failed" />`; `says` is another text than the status itself.
 * @param {{ of: string, says?: string }} props
 */
export function Status({ of, says }) {
  const [icon, tone] = TONES[of] ?? ["•", "off"];
  return html`<span class="status status-${tone}"><span class="status-icon" aria-hidden="true">${icon}</span>${says ?? of}</span>`;
}

/**
 * The word for where a run is: one that was asked to end and has not ended yet is stopping.
 * @param {Api.Run} run
 */
export const stateOf = (run) => (run.status === "running" && run.cancel_requested ? "stopping" : run.status);

/**
 * The colour class of a status, for strips.
 * @param {string} status
 */
export const toneOf = (status) => (TONES[status] ?? ["•", "off"])[1];
