// The same job once more, with an input that can be changed first.
import { api, part, Problem } from "../api.js";
import { usePoll } from "../poll.js";
import { go, to } from "../router.js";
import { useMay } from "../session.js";
import { html, useState } from "../ui.js";
import { Dialog } from "./dialog.js";
import { Field } from "./field.js";
import { InputForm } from "./input-form.js";
import { Loading } from "./page.js";
import { toast } from "./toasts.js";

/**
 * What POST /runs needs for such a run again. Not its key: that would lead back to this run.
 * @param {Api.Run} run
 */
export function orderOf(run) {
  /** @type {Api.Body<"POST", "/runs">} */
  const order = { job: run.job, input: run.input, queue: run.queue };
  if (run.priority) order.priority = run.priority;
  if (run.tag) order.tag = run.tag;
  if (run.target) order.target = run.target;
  if (run.user_id) order.user_id = run.user_id;
  return order;
}

/** @param {{ run: Api.Run }} props */
export function RunAgain({ run }) {
  const [open, setOpen] = useState(false);
  if (!useMay("enqueue")) return null;
  return html`
    <button type="button" onClick=${() => setOpen(true)}>Run again with edited input</button>
    ${open && html`<${Again} run=${run} close=${() => setOpen(false)} />`}
  `;
}

/** @param {{ run: Api.Run, close: () => void }} props */
function Again({ run, close }) {
  const { data: job, problem: unknown } = usePoll(`/jobs/${part(run.job)}`, {}, 0);
  const [options, setOptions] = useState({ delay: "", queue: run.queue, priority: String(run.priority) });
  /** @param {keyof typeof options} name */
  const set = (name) => (/** @type {string} */ text) => setOptions({ ...options, [name]: text });

  /** @param {Input} input */
  const send = async (input) => {
    const made = await api.post("/runs", { ...orderOf(run), input, ...chosen(options) });
    close();
    go(to(["runs", made.id]));
    toast("This is the new run.");
  };

  return html`
    <${Dialog} title=${`Run ${run.job} again`} onClose=${close} wide>
      ${
        job || unknown
          ? html`<${InputForm} schema=${job?.input_schema ?? null} input=${run.input} submit="Run it" onSubmit=${send}>
              <details>
                <summary>When and where</summary>
                <div class="form-columns">
                  <${Field} label="Delay" value=${options.delay} onChange=${set("delay")} hint="In seconds; empty for now." inputmode="decimal" />
                  <${Field} label="Queue" value=${options.queue} onChange=${set("queue")} />
                  <${Field} label="Priority" value=${options.priority} onChange=${set("priority")} hint="From -100 to 100; higher runs first." inputmode="numeric" />
                </div>
              </details>
            <//>`
          : html`<${Loading} />`
      }
    <//>
  `;
}

/** @param {{ delay: string, queue: string, priority: string }} given */
function chosen({ delay, queue, priority }) {
  return {
    delay: numberOf("Delay", delay) ?? undefined,
    queue: queue.trim() || undefined,
    priority: numberOf("Priority", priority) ?? undefined,
  };
}

/**
 * @param {string} name
 * @param {string} text
 */
function numberOf(name, text) {
  if (text.trim() === "") return null;
  const number = Number(text);
  if (Number.isNaN(number)) throw new Problem(`${name}: ${text} is no number.`);
  return number;
}
