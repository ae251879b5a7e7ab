// The secret of an endpoint: another one, and how a new one is shown, once.
import { api, part } from "../api.js";
import { html, useState } from "../ui.js";
import { Action } from "./action.js";
import { Dialog } from "./dialog.js";
import { Choice } from "./field.js";
import { Secret } from "./secret.js";
import { SubmitFoot, useSubmit } from "./submit.js";

/**
 * A new secret: this once. It lives in this dialog alone, and is gone when that closes.
 * @param {{ secret: string, close: () => void }} props
 */
export function ShownOnce({ secret, close }) {
  return html`
    <${Dialog} title="The secret of this endpoint" onClose=${close}>
      <${Secret} text=${secret} name="Secret" />
      <p class="faint">Every delivery is signed with it, as Standard Webhooks says: the receiver checks the header
        ${" "}<code>webhook-signature</code> before it believes what it is sent.</p>
      <div class="dialog-foot"><button type="button" class="primary" onClick=${close}>I have saved it</button></div>
    <//>
  `;
}

const OVERLAPS = [["86400", "for a day"], ["3600", "for an hour"], ["604800", "for a week"], ["0", "not at all: it is in wrong hands"]];

/**
 * Another secret: asks how long the old one is to be valid too.
 * @param {{ endpoint: Api.Endpoint, done: Reload }} props
 */
export function Rotate({ endpoint, done }) {
  const [open, setOpen] = useState(false);
  const [overlap, setOverlap] = useState("86400");
  const [secret, setSecret] = useState(/** @type {string | null} */ (null));
  const { send, busy, problem } = useSubmit(async () => {
    const made = await api.post(`/webhooks/${part(endpoint.id)}/rotate`, { overlap: Number(overlap) });
    setOpen(false);
    setSecret(made.secret);
    await done();
  });
  return html`
    <${Action} label="Rotate secret" run=${async () => setOpen(true)} />
    ${
      open &&
      html`<${Dialog} title="Rotate the secret?" onClose=${() => setOpen(false)}>
        <form class="form" onSubmit=${send}>
          <p>A new secret is made and shown once. For a while both sign every delivery, so that the receiver can change over without refusing any.</p>
          <${Choice} label="The old one signs as well" value=${overlap} onChange=${setOverlap} options=${OVERLAPS} />
          <${SubmitFoot} label="Create new secret" classes="danger" busy=${busy} problem=${problem} close=${() => setOpen(false)} />
        </form>
      <//>`
    }
    ${secret && html`<${ShownOnce} secret=${secret} close=${() => setSecret(null)} />`}
  `;
}
