// Keys: `g` and a letter for a screen, `/` for the filter, `p` to pause, `?` for this list. They can be switched off,
// because a single letter may be spoken by who dictates.
import { paused } from "../live.js";
import { shortcuts } from "../preferences.js";
import { go, to } from "../router.js";
import { SCREENS } from "../screens.js";
import { shared } from "../store.js";
import { html, useEffect } from "../ui.js";
import { Dialog } from "./dialog.js";
import { Check } from "./field.js";

const shown = shared(false);
const TYPED = new Set(["INPUT", "TEXTAREA", "SELECT"]);
const SECOND = 1000;

export const showShortcuts = () => shown.set(true);

export function Shortcuts() {
  const open = shown.use();
  const on = shortcuts.use() === "on";
  useEffect(() => {
    if (!on) return undefined;
    let leads = 0;
    const press = (event) => {
      const typing = TYPED.has(event.target.tagName) || event.target.isContentEditable || document.querySelector("dialog[open]");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const screen = Date.now() - leads < SECOND && SCREENS.find((one) => one.key === event.key);
      leads = event.key === "g" ? Date.now() : 0;
      if (screen) go(to(screen.path ? [screen.path] : []));
      else if (event.key === "?") shown.set(true);
      else if (event.key === "p") paused.set(!paused.get());
      else if (event.key === "/") document.querySelector("[data-filter]")?.focus();
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
        <div><dt><kbd>p</kbd></dt><dd>pause and resume</dd></div>
        <div><dt><kbd>?</kbd></dt><dd>this list</dd></div>
      </dl>
    <//>
  `;
}
