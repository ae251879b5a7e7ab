// Keyboard shortcuts: `g` and a letter for a screen, `/` for the filter, `j`, `k` and `x` in a list, `p` to pause, `?` for
// this list. They can be switched off, because a single letter may be spoken by who dictates.
import { paused } from "../live.js";
import { shortcuts } from "../preferences.js";
import { go, to } from "../router.js";
import { SCREENS } from "../screens.js";
import { focusOn, html, shared, useEffect } from "../ui.js";
import { Dialog } from "./dialog.js";
import { Check } from "./form.js";

const shown = shared(false);
const TYPED = new Set(["INPUT", "TEXTAREA", "SELECT"]);
const SECOND = 1000;

const ROW_LINK = "main tbody tr a.strong";
const currentRow = () => document.activeElement?.closest("main tbody tr");

/**
 * To the link of the row so many rows on from the one with the focus; from nowhere, to the first.
 * @param {number} step
 */
function toRow(step) {
  const links = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(ROW_LINK)]);
  const link = currentRow()?.querySelector("a.strong");
  const here = links.findIndex((one) => one === link);
  links[here < 0 ? 0 : Math.min(links.length - 1, Math.max(0, here + step))]?.focus();
}

/** Tick the box of the row with the focus, if it has one. */
function toggleRow() {
  const box = currentRow()?.querySelector("input[type=checkbox]");
  if (box instanceof HTMLElement) box.click();
}

export const showShortcuts = () => shown.set(true);

export function Shortcuts() {
  const open = shown.use();
  const on = shortcuts.use() === "on";
  useEffect(() => {
    if (!on) return undefined;
    let leads = 0;
    /** @param {KeyboardEvent} event */
    const press = (event) => {
      const target = event.target instanceof HTMLElement ? event.target : null;
      const typing = TYPED.has(target?.tagName ?? "") || target?.isContentEditable || document.querySelector("dialog[open]");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const screen = Date.now() - leads < SECOND && SCREENS.find((one) => one.key === event.key);
      leads = event.key === "g" ? Date.now() : 0;
      if (screen) go(to(screen.path ? [screen.path] : []));
      else if (event.key === "?") shown.set(true);
      else if (event.key === "p") paused.set(!paused.get());
      else if (event.key === "/") focusOn("[data-filter]");
      else if (event.key === "j") toRow(1);
      else if (event.key === "k") toRow(-1);
      else if (event.key === "x") toggleRow();
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [on]);
  if (!open) return null;
  return html`
    <${Dialog} title="Keyboard shortcuts" onClose=${() => shown.set(false)}>
      <${Check} label="Keyboard shortcuts are on" checked=${on} onChange=${(yes) => shortcuts.set(yes ? "on" : "off")} />
      <dl class="keys">
        ${SCREENS.map((one) => html`<div key=${one.path}><dt><kbd>g</kbd> <kbd>${one.key}</kbd></dt><dd>${one.name}</dd></div>`)}
        <div><dt><kbd>/</kbd></dt><dd>to the filter</dd></div>
        <div><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next row, previous row</dd></div>
        <div><dt><kbd>Enter</kbd></dt><dd>open the row</dd></div>
        <div><dt><kbd>x</kbd></dt><dd>choose the row</dd></div>
        <div><dt><kbd>p</kbd></dt><dd>pause and resume</dd></div>
        <div><dt><kbd>?</kbd></dt><dd>this list</dd></div>
      </dl>
    <//>
  `;
}
