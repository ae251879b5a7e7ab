// Dialogs, questions before something that cannot be taken back, and the buttons that ask them.
import { useMay } from "../api.js";
import { focusOn, giveBack, html, keepFocus, shared, useEffect, useId, useRef, useState } from "../ui.js";
import { toast } from "./toasts.js";

// Dialogs: the browser's own <dialog>, which keeps the focus inside, closes with Escape and gives the focus back.

/**
 * A dialog that is open as long as it is rendered. `onClose` is called by Escape and by the button.
 * @param {{ title: string, onClose: () => void, children?: Child, wide?: boolean }} props
 */
export function Dialog({ title, onClose, children, wide = false }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const name = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    if (!dialog) return undefined;
    dialog.showModal();
    focusOn("form :is(input, select, textarea, button)", dialog); // else it would be on the cross
    return () => {
      dialog.close();
      giveBack(before);
    };
  }, []);
  /** @param {Event} event */
  const cancel = (event) => {
    event.preventDefault();
    onClose();
  };
  return html`
    <dialog ref=${element} class=${wide ? "wide" : ""} aria-labelledby=${name} onCancel=${cancel}>
      <header class="dialog-head">
        <h2 id=${name}>${title}</h2>
        <button type="button" class="small quiet" aria-label="Close" onClick=${onClose}>✕</button>
      </header>
      ${children}
    </dialog>
  `;
}

const question = shared(/** @type {(Question & { answer: (yes: boolean) => void }) | null} */ (null));

/**
 * Ask before something that cannot be taken back: `await confirm({title, text, action: "Delete"})`. With `word`, that
 * word must be typed first.
 * @param {Question} asked
 * @returns {Promise<boolean>}
 */
function confirm(asked) {
  return new Promise((answer) => question.set({ ...asked, answer }));
}

/** Where such questions appear; once on the page. */
export function Confirmations() {
  const asked = question.use();
  if (!asked) return null;
  /** @param {boolean} yes */
  const end = (yes) => {
    question.set(null);
    asked.answer(yes);
  };
  return html`<${Question} asked=${asked} end=${end} />`;
}

/** @param {{ asked: Question, end: (yes: boolean) => void }} props */
function Question({ asked, end }) {
  const [typed, type] = useState("");
  const ready = !asked.word || typed === asked.word;
  /** @param {Event} event */
  const agree = (event) => {
    event.preventDefault();
    if (ready) end(true);
  };
  return html`
    <${Dialog} title=${asked.title} onClose=${() => end(false)}>
      <form onSubmit=${agree}>
        <p>${asked.text}</p>
        ${
          asked.word &&
          html`<label class="field"><span>Type <code>${asked.word}</code> to go on</span>
            <input value=${typed} onInput=${(event) => type(event.target.value)} autocomplete="off" /></label>`
        }
        <div class="dialog-foot">
          <button type="button" onClick=${() => end(false)}>${asked.keep ?? "Cancel"}</button>
          <button type="submit" class=${asked.calm ? "primary" : "danger"} disabled=${!ready}>${asked.action}</button>
        </div>
      </form>
    <//>
  `;
}

// A button that has the server do something: hidden from who may not, busy while it is done, telling what came of it.

/**
 * `run` is async; what it returns, if it is a text, is shown as a message. `ask` ({title, text, action}) is a question
 * before it, for what cannot be taken back; or an async function that makes it. `needs` is the scope.
 * @param {{ label: string, run: () => Promise<unknown>, ask?: Question | (() => Promise<Question>) | null, needs?: Api.Scope, classes?: string, title?: string, disabled?: boolean }} props
 */
export function Action({ label, run, ask, needs = "operate", classes = "", title, disabled = false }) {
  const may = useMay(needs);
  const [busy, setBusy] = useState(false);
  if (!may) return null;
  const act = async () => {
    if (busy) return;
    setBusy(true);
    await attempt(async () => {
      const question = typeof ask === "function" ? await ask() : ask;
      return !question || (await confirm(question)) ? run() : null;
    });
    setBusy(false);
    keepFocus();
  };
  // While it is busy it is not `disabled`: that would take the focus away from it.
  return html`<button type="button" class=${classes} title=${title} disabled=${disabled} aria-disabled=${busy} aria-busy=${busy} onClick=${act}>
    ${label}
  </button>`;
}

/**
 * Do it, and show what came of it; whether it worked.
 * @param {() => unknown} run
 */
export async function attempt(run) {
  try {
    const text = await run();
    if (typeof text === "string") toast(text);
    return true;
  } catch (problem) {
    toast(problem.message, { bad: true });
    return false;
  }
}
