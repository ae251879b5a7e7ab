// Sending a form: once at a time, and what the server has against it is said within the form.
import { html, useRef, useState } from "../ui.js";
import { Trouble } from "./page.js";

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
