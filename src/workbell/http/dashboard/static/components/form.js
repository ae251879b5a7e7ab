// Forms: their fields, the field whose text counts once it is left, and sending.
import { html, useEffect, useId, useRef, useState } from "../ui.js";
import { Trouble } from "./page.js";

// A field of a form: label, control, hint and what is wrong with it, tied together for screen readers.

/**
 * Text, number, password, datetime-local … `onChange` gets the text.
 * @param {{ label: string, value: string, onChange: (text: string) => unknown, hint?: Child, wrong?: string | null, type?: string, [name: string]: unknown }} props
 */
export function Field({ label, value, onChange, hint, wrong, type = "text", ...rest }) {
  const name = useId();
  return html`
    <div class="field">
      <label for=${name}>${label}</label>
      <input id=${name} type=${type} value=${value} onInput=${(event) => onChange(event.target.value)}
        aria-describedby="${name}-hint" aria-invalid=${wrong ? "true" : undefined} autocomplete="off" ...${rest} />
      <${Notes} name=${name} hint=${hint} wrong=${wrong} />
    </div>
  `;
}

/**
 * Several lines, JSON mostly.
 * @param {{ label: string, value: string, onChange: (text: string) => unknown, hint?: Child, wrong?: string | null, rows?: number, [name: string]: unknown }} props
 */
export function Area({ label, value, onChange, hint, wrong, rows = 6, ...rest }) {
  const name = useId();
  return html`
    <div class="field">
      <label for=${name}>${label}</label>
      <textarea id=${name} rows=${rows} value=${value} onInput=${(event) => onChange(event.target.value)}
        aria-describedby="${name}-hint" aria-invalid=${wrong ? "true" : undefined} spellcheck="false" ...${rest}></textarea>
      <${Notes} name=${name} hint=${hint} wrong=${wrong} />
    </div>
  `;
}

/**
 * One of several; `options` are texts or [value, text].
 * @param {{ label: string, value: string, onChange: (value: string) => unknown, options: (string | string[])[], hint?: Child, wrong?: string | null, [name: string]: unknown }} props
 */
export function Choice({ label, value, onChange, options, hint, wrong, ...rest }) {
  const name = useId();
  return html`
    <div class="field">
      <label for=${name}>${label}</label>
      <select id=${name} value=${value} onChange=${(event) => onChange(event.target.value)}
        aria-describedby="${name}-hint" aria-invalid=${wrong ? "true" : undefined} ...${rest}>
        ${options.map((one) => {
          const [known, text] = Array.isArray(one) ? one : [one, one];
          return html`<option key=${known} value=${known} selected=${known === value}>${text}</option>`;
        })}
      </select>
      <${Notes} name=${name} hint=${hint} wrong=${wrong} />
    </div>
  `;
}

/**
 * Yes or no.
 * @param {{ label: string, checked: boolean, onChange: (on: boolean) => unknown, [name: string]: unknown }} props
 */
export function Check({ label, checked, onChange, ...rest }) {
  return html`<label class="check">
    <input type="checkbox" checked=${checked} onChange=${(event) => onChange(event.target.checked)} ...${rest} /><span>${label}</span>
  </label>`;
}

/** @param {{ name: string, hint?: Child, wrong?: string | null }} props */
function Notes({ name, hint, wrong }) {
  return html`<p id="${name}-hint" class="hint">
    ${wrong ? html`<span class="wrong">${wrong}</span>` : hint}
  </p>`;
}

// A field whose text counts once Enter is pressed or it is left, not at every letter.

/**
 * `onDone(text)` is called if the text is another one than `value`. With `check`, a text that it says something about is
 * not done: what it says stands at the field until the text is right.
 * @param {{ value: string, onDone: (text: string) => void, check?: (text: string) => string | null, [name: string]: unknown }} props
 */
export function Typed({ value, onDone, check = () => null, ...rest }) {
  const [text, setText] = useState(value);
  const [wrong, setWrong] = useState(/** @type {string | null} */ (null));
  useEffect(() => {
    setText(value);
    setWrong(null);
  }, [value]);
  /** @param {string} next */
  const type = (next) => {
    setText(next);
    if (wrong) setWrong(check(next));
  };
  const done = () => {
    const found = check(text);
    setWrong(found);
    if (!found && text.trim() !== value) onDone(text.trim());
  };
  return html`<${Field} ...${rest} value=${text} wrong=${wrong} onChange=${type} onBlur=${done}
    onKeyDown=${(event) => event.key === "Enter" && done()} />`;
}

// Sending a form: once at a time, and what the server has against it is said within the form.

/**
 * `{send, busy, problem}`: `send(event)` is for the form's `onSubmit`; it calls the async `save`, and not a second time
 * before that has ended. What `save` throws becomes `problem`.
 * @param {(event: SubmitEvent & { target: HTMLFormElement }) => Promise<unknown>} save
 */
export function useSubmit(save) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const sending = useRef(false); // two clicks can come before the page is drawn anew
  /** @param {SubmitEvent & { target: HTMLFormElement }} event */
  const send = async (event) => {
    event?.preventDefault();
    if (sending.current) return;
    sending.current = true;
    setBusy(true);
    setProblem(null);
    try {
      await save(event);
    } catch (refused) {
      setProblem(refused);
    }
    sending.current = false;
    setBusy(false);
  };
  return { send, busy, problem };
}

/**
 * The end of such a form: what went wrong, and its buttons. Without `close` there is only the one that sends it.
 * @param {{ label: string, busy: boolean, problem: Failure | null, close?: () => void, classes?: string }} props
 */
export function SubmitFoot({ label, busy, problem, close, classes = "primary" }) {
  return html`
    <${Trouble} problem=${problem} />
    <div class="dialog-foot">
      ${close && html`<button type="button" onClick=${close}>Cancel</button>`}
      <button type="submit" class=${classes} aria-disabled=${busy} aria-busy=${busy}>${label}</button>
    </div>
  `;
}
