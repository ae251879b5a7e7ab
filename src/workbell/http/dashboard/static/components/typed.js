// A field whose text counts once Enter is pressed or it is left, not at every letter.
import { html, useEffect, useState } from "../ui.js";
import { Field } from "./field.js";

/** `onDone(text)` is called if the text is another one than `value`. */
export function Typed({ value, onDone, ...rest }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const done = () => text.trim() !== value && onDone(text.trim());
  return html`<${Field} ...${rest} value=${text} onChange=${setText} onBlur=${done}
    onKeyDown=${(event) => event.key === "Enter" && done()} />`;
}
