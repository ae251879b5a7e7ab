// Running a job by hand: a form made from its handler's signature, and the options of an enqueue.
import { api } from "../api.js";
import { go, Link, to } from "../router.js";
import { html, useState } from "../ui.js";
import { Dialog } from "./dialog.js";
import { Field } from "./field.js";
import { InputForm } from "./input-form.js";

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
