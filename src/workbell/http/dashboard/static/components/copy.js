// Copying a text; and commands for a terminal, which are there to be copied.
import { html, useState } from "../ui.js";
import { announce } from "./toasts.js";

// Copying a text. On plain HTTP browsers offer no clipboard to pages, so there is a second way.

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

// Texts for a terminal, quoted so that no name and no input can become a command of its own.

const PLAIN = /^[A-Za-z0-9_./:@%+,-]+$/;
const LONGEST = 100_000; // letters of one word: Linux takes 128 KiB

/**
 * One word for a POSIX shell: within single quotes nothing has a meaning but the quote itself.
 * @param {string} word
 */
const quoted = (word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/**
 * Whether a text is too long for one word of a command line.
 * @param {string} word
 */
export const isTooLong = (word) => new TextEncoder().encode(word).length > LONGEST;

/**
 * A command from its words; `name` comes last, behind `--` if it could be taken for an option.
 * @param {string[]} words
 * @param {string} name
 */
export function commandText(words, name) {
  const last = name.startsWith("-") ? ["--", name] : [name];
  return ["workbell", ...words, ...last].map(quoted).join(" ");
}

/**
 * A request with curl, which finds the token in the environment. `body` is JSON on one line, or null for a GET.
 * @param {string} address
 * @param {string | null} [body]
 */
export function curlText(address, body = null) {
  const begin = `curl ${quoted(address)} \\\n  -H "Authorization: Bearer $WORKBELL_TOKEN"`;
  if (body === null) return begin;
  const posted = `${begin} \\\n  -H 'Content-Type: application/json'`;
  // A long one is read from standard input. It is one line of JSON, so it never is the line that ends it.
  if (isTooLong(body)) return `${posted} \\\n  --data-binary @- <<'END_OF_INPUT'\n${body}\nEND_OF_INPUT`;
  return `${posted} \\\n  --data-raw ${quoted(body)}`;
}
