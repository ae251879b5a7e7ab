// A field whose text counts once Enter is pressed or it is left, not at every letter.
import { html, useEffect, useState } from "../ui.js";
import { Field } from "./field.js";

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
