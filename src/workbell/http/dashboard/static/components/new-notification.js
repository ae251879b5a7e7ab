// Tell one person something, or everybody of the tenant.
import { api } from "../api.js";
import { parse } from "../json.js";
import { html, useState } from "../ui.js";
import { attempt } from "./action.js";
import { Dialog } from "./dialog.js";
import { Area, Check, Field } from "./field.js";

export function NewNotification({ close, reload }) {
  const [user, setUser] = useState("");
  const [everybody, setEverybody] = useState(false);
  const [text, setText] = useState('{"text": "Hello"}');
  const [wrong, setWrong] = useState({});
  const send = async (event) => {
    event.preventDefault();
    const found = {};
    let data = null;
    if (!everybody && !/^\d{1,18}$/.test(user)) found.user = "The number of a person, such as 7.";
    try {
      data = parse(text);
    } catch (error) {
      found.text = `This is not JSON: ${error.message}`;
    }
    setWrong(found);
    if (Object.keys(found).length) return;
    const body = everybody ? { everybody, data } : { user_id: parse(user), data };
    const done = await attempt(async () => {
      await api.post("/notifications", body);
      await reload();
      return "It is told.";
    });
    if (done) close();
  };
  return html`
    <${Dialog} title="Tell somebody" onClose=${close}>
      <form class="form" onSubmit=${send} noValidate>
        <${Check} label="Everybody of this tenant" checked=${everybody} onChange=${setEverybody} />
        ${!everybody && html`<${Field} label="Person" value=${user} onChange=${setUser} wrong=${wrong.user} inputmode="numeric" hint="The user id of their token." />`}
        <${Area} label="What" value=${text} onChange=${setText} wrong=${wrong.text} hint="JSON; a field “text” is shown first." rows=${4} />
        <div class="dialog-foot"><button type="submit" class="primary">Tell</button></div>
      </form>
    <//>
  `;
}
