// A form for the input of one run; the options of the run stand in it too.
import { toFirstWrong } from "../focus.js";
import { html, useState } from "../ui.js";
import { PayloadField, payloadOf, readPayload } from "./payload-field.js";
import { SubmitFoot, useSubmit } from "./submit.js";

/**
 * The async `onSubmit(input)` is called with a valid one; `children` stand before the button.
 * @param {{ schema: ArgumentSchema | null, input?: Input, submit: string, onSubmit: (input: Input) => Promise<unknown>, children?: Child }} props
 */
export function InputForm({ schema, input = {}, submit, onSubmit, children }) {
  const [state, setState] = useState(() => payloadOf(schema, input));
  const [wrong, setWrong] = useState(/** @type {Wrong} */ ({}));
  const takesNone = schema?.additionalProperties === false && !Object.keys({ ...schema.properties, ...input }).length;
  const { send, busy, problem } = useSubmit(async (event) => {
    const found = readPayload(schema, state);
    setWrong(found.wrong ?? {});
    return found.input ? onSubmit(found.input) : toFirstWrong(event.target);
  });
  return html`
    <form class="input-form" onSubmit=${send} noValidate>
      ${takesNone ? html`<p class="faint">It takes no arguments.</p>` : html`<${PayloadField} schema=${schema} state=${state} change=${setState} wrong=${wrong} />`}
      ${children}
      <${SubmitFoot} label=${submit} busy=${busy} problem=${problem} />
    </form>
  `;
}
