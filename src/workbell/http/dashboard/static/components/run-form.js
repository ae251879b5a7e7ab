// Running a job by hand: anew, or once more with an input that can be changed first.
import { api, part, Problem, useMay } from "../api.js";
import { usePoll } from "../live.js";
import { go, Link, to } from "../router.js";
import { html, useState } from "../ui.js";
import { Dialog } from "./dialog.js";
import { Field } from "./form.js";
import { InputForm } from "./input-form.js";
import { Loading } from "./page.js";
import { toast } from "./toasts.js";

// Running a job by hand: a form made from its handler's signature, and the options of an enqueue.

const NONE = { delay: "", queue: "", priority: "", key: "", tag: "" };

/**
 * Once the run is made, the page goes to it. What the server has against it is said within the dialog.
 * @param {{ job: Api.Job, onClose: () => void }} props
 */
export function RunNow({ job, onClose }) {
  const [options, setOptions] = useState(NONE);
  const [wrong, setWrong] = useState(/** @type {Wrong} */ ({}));

  /** @param {Input} input */
  const send = async (input) => {
    const found = optionsOf(options);
    setWrong(found.wrong);
    if (Object.keys(found.wrong).length) return;
    const made = await api.post("/runs", { job: job.name, input, ...found.options });
    go(to(["runs", made.id]));
  };
  return html`
    <${Dialog} title=${`Run ${job.name}`} onClose=${onClose}>
      ${job.on.length > 0 && html`<p class="faint">Events start it. If it takes the event, only one can: <${Link} to=${to(["events"])}>send one<//>.</p>`}
      <${InputForm} schema=${job.input_schema} submit="Run now" onSubmit=${send}>
        <${Options} job=${job} options=${options} change=${setOptions} wrong=${wrong} />
      <//>
    <//>
  `;
}

/** @param {{ job: Api.Job, options: typeof NONE, change: (options: typeof NONE) => void, wrong: Wrong }} props */
function Options({ job, options, change, wrong }) {
  /**
   * @param {keyof typeof NONE} name
   * @param {string} label
   * @param {object} more
   */
  const field = (name, label, more) =>
    html`<${Field} key=${name} label=${label} value=${options[name]} wrong=${wrong[name]}
      onChange=${(text) => change({ ...options, [name]: text })} ...${more} />`;
  return html`
    <details open=${Object.keys(wrong).length > 0}>
      <summary>Options</summary>
      <div class="form-columns run-options">
        ${field("delay", "Delay", { hint: "seconds to wait first", inputmode: "decimal" })}
        ${field("queue", "Queue", { placeholder: job.queue })}
        ${field("priority", "Priority", { hint: "from -100 to 100, higher first", inputmode: "numeric" })}
        ${field("key", "Key", { hint: "of this job’s runs with one key there is one at a time" })}
        ${field("tag", "Tag", { hint: "to find it by" })}
      </div>
    </details>
  `;
}

/**
 * `{options, wrong}`: in the words of POST /runs; what is left empty is not sent.
 * @param {typeof NONE} texts
 */
function optionsOf(texts) {
  const { delay, queue, priority, key, tag } = texts;
  /** @type {Partial<Api.Body<"POST", "/runs">>} */
  const options = {};
  /** @type {Wrong} */
  const wrong = {};
  if (queue.trim()) options.queue = queue.trim();
  if (key.trim()) options.key = key.trim();
  if (tag.trim()) options.tag = tag.trim();
  if (delay.trim()) {
    options.delay = Number(delay);
    if (!(options.delay >= 0)) wrong.delay = "A number of seconds, such as 90.";
  }
  if (priority.trim()) {
    options.priority = Number(priority);
    if (!Number.isInteger(options.priority) || Math.abs(options.priority) > 100) wrong.priority = "A whole number from -100 to 100.";
  }
  return { options, wrong };
}

// The same job once more, with an input that can be changed first.

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
