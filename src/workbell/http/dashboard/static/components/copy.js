// Copying a text. On plain HTTP browsers offer no clipboard to pages, so there is a second way.
import { html, useState } from "../ui.js";
import { announce } from "./toasts.js";

/**
 * Puts a text on the clipboard; whether that worked.
 * @param {string} text
 */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const before = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "visually-hidden";
    // While a dialog is open, nothing outside of it can be selected.
    ([...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}

/**
 * A button that copies. `label` says what, if it is not obvious.
 * @param {{ text: string, label?: string }} props
 */
export function Copy({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    const worked = await copyText(text);
    announce(worked ? "Copied." : "The browser did not let us copy.");
    setDone(worked);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class="small" onClick=${copy}>${done ? "Copied" : label}</button>`;
}
