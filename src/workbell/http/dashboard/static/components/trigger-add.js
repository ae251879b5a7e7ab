// Making a trigger by hand.
import { api } from "../api.js";
import { usePoll } from "../poll.js";
import { html, useState } from "../ui.js";
import { Action } from "./action.js";
import { Dialog } from "./dialog.js";
import { Choice, Field } from "./field.js";
import { SubmitFoot, useSubmit } from "./submit.js";
import { toast } from "./toasts.js";

export const DELIVERY = "webhook-delivery"; // the job of Workbell's own that a trigger may start
const TO_ALL = [DELIVERY, `${DELIVERY} (to all endpoints)`];

/** @param {{ done: Reload }} props */
export function AddTrigger({ done }) {
  const [open, setOpen] = useState(false);
  return html`
    <${Action} label="Add a trigger" run=${async () => setOpen(true)} />
    ${open && html`<${Form} done=${done} close=${() => setOpen(false)} />`}
  `;
}

/** @param {{ done: Reload, close: () => void }} props */
function Form({ done, close }) {
  const { data: jobs } = usePoll("/jobs", {}, 0);
  const [words, setWords] = useState({ name: "", event_pattern: "", processor_name: "", description: "" });
  /** @param {keyof typeof words} name */
  const field = (name) => ({ value: words[name], onChange: (/** @type {string} */ text) => setWords({ ...words, [name]: text }) });
  const processors = (jobs?.items ?? []).filter((job) => job.processor).map((job) => job.name);
  const { send, busy, problem } = useSubmit(async () => {
    const made = await api.post("/triggers", words);
    toast(`${made.event_pattern} starts ${made.processor_name} from now on.`);
    close();
    await done();
  });
  return html`
    <${Dialog} title="Add a trigger" onClose=${close}>
      <form class="form" onSubmit=${send}>
        <${Field} label="Name" ...${field("name")} required maxlength="200" />
        <${Field} label="Pattern" ...${field("event_pattern")} required maxlength="256" placeholder="orders.*"
          hint="* is one word, ** at the end is one or more." />
        <${Choice} label="Job" ...${field("processor_name")} required options=${[["", "choose one"], ...processors, TO_ALL]}
          hint="A job that takes an event, or a delivery to every webhook endpoint." />
        <${Field} label="Description" ...${field("description")} />
        <${SubmitFoot} label="Add trigger" busy=${busy} problem=${problem} close=${close} />
      </form>
    <//>
  `;
}
