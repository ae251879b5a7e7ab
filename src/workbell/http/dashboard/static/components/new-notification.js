// Tell one person something, or everybody of the tenant.
import { api } from "../api.js";
import { toFirstWrong } from "../focus.js";
import { parse } from "../json.js";
import { html, useState } from "../ui.js";
import { Dialog } from "./dialog.js";
import { Area, Check, Field } from "./field.js";
import { SubmitFoot, useSubmit } from "./submit.js";
import { toast } from "./toasts.js";

/** @param {{ close: () => void, reload: Reload }} props */
export function NewNotification({ close, reload }) {
  const [user, setUser] = useState("");
  const [everybody, setEverybody] = useState(false);
  const [text, setText] = useState('{"text": "Hello"}');
  const [wrong, setWrong] = useState(/** @type {Wrong} */ ({}));
  const { send, busy, problem } = useSubmit(async (event) => {
    /** @type {Wrong} */
    const found = {};
    let data = null;
    if (!everybody && !user.trim()) found.user = "The recipient: a number, or a text such as a UUID.";
    try {
      data = parse(text);
    } catch (error) {
      found.text = `This is not JSON: ${error.message}`;
    }
    setWrong(found);
    if (Object.keys(found).length) return toFirstWrong(event.target);
    const body = everybody ? { everybody, data } : { user_id: user.trim(), data };
    await api.post("/notifications", body);
    toast("Sent.");
    close();
    return reload();
  });
  return html`
    <${Dialog} title="Send notification" onClose=${close}>
      <form class="form" onSubmit=${send} noValidate>
        <${Check} label="Everybody of this tenant" checked=${everybody} onChange=${setEverybody} />
        ${!everybody && html`<${Field} label="User id" value=${user} onChange=${setUser} wrong=${wrong.user} hint="The user id of their token." />`}
        <${Area} label="What" value=${text} onChange=${setText} wrong=${wrong.text} hint="JSON; a field “text” is shown first." rows=${4} />
        <${SubmitFoot} label="Send" busy=${busy} problem=${problem} />
      </form>
    <//>
  `;
}
