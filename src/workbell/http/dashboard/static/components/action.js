// A button that has the server do something: hidden from who may not, busy while it is done, telling what came of it.
import { keepFocus } from "../focus.js";
import { useMay } from "../session.js";
import { html, useState } from "../ui.js";
import { confirm } from "./dialog.js";
import { toast } from "./toasts.js";

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
