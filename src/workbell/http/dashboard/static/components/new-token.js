// Make a token; its text is shown this once.
import { api } from "../api.js";
import { useSession } from "../session.js";
import { html, useState } from "../ui.js";
import { Dialog } from "./dialog.js";
import { Check, Choice, Field } from "./field.js";
import { Secret } from "./secret.js";
import { SubmitFoot, useSubmit } from "./submit.js";

/** @type {[Api.Scope, string][]} */
const SCOPES = [
  ["read", "read: see everything, change nothing"],
  ["enqueue", "enqueue: make runs and events"],
  ["operate", "operate: also cancel, retry, pause, edit"],
  ["admin", "admin: also tokens, tenants, audit"],
];
const DAY = 86_400;
const ENDS = [["", "never"], [String(DAY), "in a day"], [String(30 * DAY), "in 30 days"], [String(365 * DAY), "in a year"]];

/** @param {{ close: () => void, reload: Reload }} props */
export function NewToken({ close, reload }) {
  const everything = useSession().tenant === "*";
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState(/** @type {Api.Scope[]} */ (["read"]));
  const [user, setUser] = useState("");
  const [expires, setExpires] = useState(String(30 * DAY));
  const [every, setEvery] = useState(false);
  const [text, setText] = useState(/** @type {string | null} */ (null));
  /** @param {Api.Scope} scope */
  const toggle = (scope) => (/** @type {boolean} */ on) => setScopes(on ? [...scopes, scope] : scopes.filter((one) => one !== scope));
  const { send, busy, problem } = useSubmit(async () => {
    const body = { name, scopes, user_id: user.trim() || null, expires: expires ? Number(expires) : null, every_tenant: every };
    setText((await api.post("/tokens", body)).token);
    return reload();
  });
  if (text) {
    return html`<${Dialog} title="The new token" onClose=${close}>
      <${Secret} text=${text} name="Token" />
      <div class="dialog-foot"><button type="button" class="primary" onClick=${close}>I have saved it</button></div>
    <//>`;
  }
  return html`
    <${Dialog} title="New token" onClose=${close}>
      <form class="form" onSubmit=${send} noValidate>
        <${Field} label="Name" value=${name} onChange=${setName} hint="Who will use it; the audit log shows it." maxlength="200" />
        <fieldset class="form"><legend>It may</legend>
          ${SCOPES.map(([scope, label]) => html`<${Check} key=${scope} label=${label} checked=${scopes.includes(scope)} onChange=${toggle(scope)} />`)}
        </fieldset>
        <${Choice} label="Expires" value=${expires} onChange=${setExpires} options=${ENDS} hint="Ends then, not with your session." />
        <${Field} label="User id" value=${user} onChange=${setUser} hint="Which person it is: whose notifications it reads, and whose runs it makes. A number, or a text such as a UUID; may be empty." />
        ${everything && html`<${Check} label="For every tenant" checked=${every} onChange=${setEvery} />`}
        <${SubmitFoot} label="Create token" busy=${busy} problem=${problem} />
      </form>
    <//>
  `;
}
