// Telling a fact by hand, to see what it sets off.
import { api, Problem } from "../api.js";
import { parse, pretty } from "../json.js";
import { go, to } from "../router.js";
import { html, useState } from "../ui.js";
import { Action } from "./action.js";
import { Dialog } from "./dialog.js";
import { Area, Field } from "./field.js";
import { MatchedBy } from "./event-subscribers.js";
import { SubmitFoot, useSubmit } from "./submit.js";

/**
 * The button and its dialog; `like` is an event whose words are taken over.
 * @param {{ label?: string, like?: Api.Event }} props
 */
export function SendEvent({ label = "Send a test event", like }) {
  const [open, setOpen] = useState(false);
  return html`
    <${Action} label=${label} needs="enqueue" classes="primary" run=${async () => setOpen(true)} />
    ${open && html`<${Form} like=${like} close=${() => setOpen(false)} />`}
  `;
}

/** @param {{ like?: Api.Event, close: () => void }} props */
function Form({ like, close }) {
  const [type, setType] = useState(like?.type ?? "");
  const [data, setData] = useState(like ? pretty(like.data) : '{"id": 7}');
  const [subject, setSubject] = useState(like?.subject ?? "");
  const [key, setKey] = useState("");
  const { send, busy, problem } = useSubmit(async () => {
    const event = await api.post("/events", { type, data: read(data), subject: subject || null, key: key || null });
    close();
    go(to(["events", event.id]));
  });
  return html`
    <${Dialog} title="Send a test event" onClose=${close}>
      <form class="form" onSubmit=${send}>
        <p class="notice">It is a real event: jobs with a matching trigger start, and matching endpoints are sent it.</p>
        <${Field} label="Type" value=${type} onChange=${setType} placeholder="orders.placed" required maxlength="256"
          hint="Words with dots between them." />
        <${Area} label="Data" value=${data} onChange=${setData} rows=${5} hint="JSON, or nothing." />
        <div class="form-columns">
          <${Field} label="Subject" value=${subject} onChange=${setSubject} hint="What it is about, such as an id." />
          <${Field} label="Key" value=${key} onChange=${setKey} hint="Of events with one key there is one." />
        </div>
        <div aria-live="polite"><${MatchedBy} type=${type} /></div>
        <${SubmitFoot} label="Send it" busy=${busy} problem=${problem} close=${close} />
      </form>
    <//>
  `;
}

/** @param {string} text */
function read(text) {
  if (!text.trim()) return null;
  try {
    return parse(text);
  } catch (error) {
    throw new Problem(`Data: this is not JSON: ${error.message}`);
  }
}
