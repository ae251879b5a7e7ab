// The input of runs: as a form where the job's arguments are known, and as JSON always.
import { parse, pretty, stringify } from "../json.js";
import { html, useState } from "../ui.js";
import { Area, Check } from "./field.js";
import { inputOf, SchemaFields, textsOf } from "./schema-form.js";

/** @param {ArgumentSchema | null} schema */
const hasFields = (schema) => Object.keys(schema?.properties ?? {}).length > 0;
/** @param {Input} input */
const sorted = (input) => stringify(Object.entries(input).sort(([one], [other]) => (one < other ? -1 : 1)));

/**
 * The state of the field for an input; one that the form could not give back exactly as it was is shown as JSON.
 * @param {ArgumentSchema | null} schema
 * @param {Input} input
 */
export function payloadOf(schema, input) {
  const texts = textsOf(schema, input);
  const held = hasFields(schema) ? [given(schema, texts).input, inputOf(schema, texts).input] : [];
  const exact = held.some((one) => one && sorted(one) === sorted(input));
  const begun = hasFields(schema) && Object.keys(input).length === 0;
  return { raw: !exact && !begun, texts, text: pretty(input) };
}

/**
 * What is filled in, though something that is needed may be missing.
 * @param {ArgumentSchema | null} schema
 * @param {Texts} texts
 */
const given = (schema, texts) => inputOf({ ...schema, required: [] }, texts);

/**
 * `{input}` or `{wrong: {name: text}}`.
 * @param {ArgumentSchema | null} schema
 * @param {PayloadState} state
 * @returns {{ input?: Input, wrong?: Wrong }}
 */
export function readPayload(schema, state) {
  if (!state.raw) return inputOf(schema, state.texts);
  try {
    const found = parse(state.text.trim() || "{}");
    const isObject = found !== null && typeof found === "object" && !Array.isArray(found);
    return isObject ? { input: found } : { wrong: { "": 'An object with the arguments by name, such as {"to": "a@b.c"}.' } };
  } catch (error) {
    return { wrong: { "": `This is not JSON: ${error.message}` } };
  }
}

/**
 * `state` and `change(state)` are the form's, as `payloadOf` begins it; `wrong` is what `readPayload` found.
 * @param {{ schema: ArgumentSchema | null, state: PayloadState, change: (state: PayloadState) => void, wrong?: Wrong }} props
 */
export function PayloadField({ schema, state, change, wrong = {} }) {
  const [stays, setStays] = useState(/** @type {string[] | null} */ (null)); // why it cannot be shown the other way; in a list, so that the same again draws the box anew
  /** @param {boolean} raw */
  const toggle = (raw) => {
    const found = state.raw ? readPayload(schema, state) : given(schema, state.texts);
    if (!found.input) return setStays([Object.entries(found.wrong ?? {}).map(([name, text]) => `${name} ${text}`.trim()).join(" ")]);
    const next = payloadOf(schema, found.input);
    // Back to the form only if it can hold all that was written.
    if (!raw && next.raw) return setStays(["The form cannot hold all of this, so it stays JSON."]);
    setStays(null);
    return change({ ...next, raw });
  };
  return html`
    ${hasFields(schema) && html`<${Check} label="Edit as JSON" checked=${state.raw} onChange=${toggle} />`}
    ${stays && html`<p class="wrong" role="alert">${stays}</p>`}
    ${
      state.raw || !hasFields(schema)
        ? html`<${Area} label="Input as JSON" value=${state.text} onChange=${(text) => change({ ...state, text })} wrong=${wrong[""]} hint="The arguments by name." rows=${5} />`
        : html`<div class="form-columns"><${SchemaFields} schema=${schema} texts=${state.texts} change=${(texts) => change({ ...state, texts })} wrong=${wrong} /></div>`
    }
  `;
}
