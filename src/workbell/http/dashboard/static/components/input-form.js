// The form for the input of a run or a schedule: fields made from the schema of a job's arguments, or JSON.
import { parse, pretty, stringify } from "../api.js";
import { html, toFirstWrong, useState } from "../ui.js";
import { Area, Check, Choice, Field, SubmitFoot, useSubmit } from "./form.js";

// A form for the input of one run; the options of the run stand in it too.

/**
 * The async `onSubmit(input)` is called with a valid one; `children` stand before the button.
 * @param {{ schema: ArgumentSchema | null, input?: Input, submit: string, onSubmit: (input: Input) => Promise<unknown>, children?: Child }} props
 */
export function InputForm({ schema, input = {}, submit, onSubmit, children }) {
  const [state, setState] = useState(() => inputStateOf(schema, input));
  const [wrong, setWrong] = useState(/** @type {Wrong} */ ({}));
  const takesNone = schema?.additionalProperties === false && !Object.keys({ ...schema.properties, ...input }).length;
  const { send, busy, problem } = useSubmit(async (event) => {
    const found = readInput(schema, state);
    setWrong(found.wrong ?? {});
    return found.input ? onSubmit(found.input) : toFirstWrong(event.target);
  });
  return html`
    <form class="input-form" onSubmit=${send} noValidate>
      ${takesNone ? html`<p class="faint">It takes no arguments.</p>` : html`<${InputField} schema=${schema} state=${state} change=${setState} wrong=${wrong} />`}
      ${children}
      <${SubmitFoot} label=${submit} busy=${busy} problem=${problem} />
    </form>
  `;
}

// The input of runs: as a form where the job's arguments are known, and as JSON always.

/** @param {ArgumentSchema | null} schema */
const hasFields = (schema) => Object.keys(schema?.properties ?? {}).length > 0;
/** @param {Input} input */
const sorted = (input) => stringify(Object.entries(input).sort(([one], [other]) => (one < other ? -1 : 1)));

/**
 * The state of the field for an input; one that the form could not give back exactly as it was is shown as JSON.
 * @param {ArgumentSchema | null} schema
 * @param {Input} input
 */
export function inputStateOf(schema, input) {
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
 * @param {InputState} state
 * @returns {{ input?: Input, wrong?: Wrong }}
 */
export function readInput(schema, state) {
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
 * `state` and `change(state)` are the form's, as `inputStateOf` begins it; `wrong` is what `readInput` found.
 * @param {{ schema: ArgumentSchema | null, state: InputState, change: (state: InputState) => void, wrong?: Wrong }} props
 */
export function InputField({ schema, state, change, wrong = {} }) {
  const [stays, setStays] = useState(/** @type {string[] | null} */ (null)); // why it cannot be shown the other way; in a list, so that the same again draws the box anew
  /** @param {boolean} raw */
  const toggle = (raw) => {
    const found = state.raw ? readInput(schema, state) : given(schema, state.texts);
    if (!found.input) return setStays([Object.entries(found.wrong ?? {}).map(([name, text]) => `${name} ${text}`.trim()).join(" ")]);
    const next = inputStateOf(schema, found.input);
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

// A form made from the JSON Schema of a handler's arguments; what a simple control cannot hold is edited as JSON.

/**
 * What a schema says of one argument, behind references and "or null".
 * @param {ArgumentSchema | undefined} schema
 * @param {ArgumentSchema | null} whole
 * @returns {ArgumentSchema}
 */
function resolved(schema, whole) {
  let found = schema;
  for (let step = 0; found?.$ref && step < 10; step++) {
    found = whole?.$defs?.[found.$ref.split("/").at(-1) ?? ""] ?? {};
  }
  const some = found?.anyOf?.filter((one) => one.type !== "null");
  const plain = some?.length === 1 ? { ...resolved(some[0], whole), nullable: true } : (found ?? {});
  return { ...plain, default: schema?.default };
}

/**
 * Which control an argument gets.
 * @param {ArgumentSchema} schema
 */
function kindOf(schema) {
  if (schema.enum) return "choice";
  if (schema.type && ["string", "integer", "number", "boolean"].includes(schema.type)) return schema.type;
  return "json";
}

/**
 * The first texts of the form, from an input. Defaults stay out of it: what is left empty is the job's to choose.
 * @param {ArgumentSchema | null} schema
 * @param {Input} [input]
 */
function textsOf(schema, input = {}) {
  /** @type {Texts} */
  const texts = {};
  for (const [name, one] of Object.entries(schema?.properties ?? {})) {
    const found = resolved(one, schema);
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (value === undefined || (value === null && kindOf(found) !== "json")) texts[name] = "";
    else texts[name] = typeof value === "string" && kindOf(found) !== "json" ? value : pretty(value);
  }
  return texts;
}

/**
 * `{input}` or `{wrong: {name: text}}`. An argument that is left empty is not sent, so its default counts.
 * @param {ArgumentSchema | null} schema
 * @param {Texts} texts
 * @returns {{ input?: Input, wrong?: Wrong }}
 */
function inputOf(schema, texts) {
  /** @type {Input} */
  const input = {};
  /** @type {Wrong} */
  const wrong = {};
  const required = new Set(schema?.required ?? []);
  for (const [name, one] of Object.entries(schema?.properties ?? {})) {
    const found = resolved(one, schema);
    const kind = kindOf(found);
    const text = texts[name] ?? "";
    if (text === "" && !(kind === "string" && required.has(name))) {
      if (required.has(name) && kind !== "string") wrong[name] = "This is needed.";
      continue;
    }
    try {
      input[name] = kind === "string" ? text : kind === "choice" ? chosenOf(found, text) : parse(text);
    } catch {
      wrong[name] = kind === "json" ? "This is not JSON." : `This is no ${kind}.`;
      continue;
    }
    const number = typeof input[name] === "number" || typeof input[name] === "bigint";
    if ((kind === "integer" || kind === "number") && !number) wrong[name] = `This is no ${kind}.`;
    if (kind === "integer" && number && String(input[name]).includes(".")) wrong[name] = "This is no whole number.";
    if (kind === "boolean" && typeof input[name] !== "boolean") wrong[name] = "true or false.";
  }
  return Object.keys(wrong).length ? { wrong } : { input };
}

/**
 * The value that a text stands for; it may be a number. One that is not to choose from is left to the server.
 * @param {ArgumentSchema} schema
 * @param {string} text
 */
const chosenOf = (schema, text) => {
  const known = schema.enum ?? [];
  const index = known.map(String).indexOf(text);
  return index < 0 ? text : known[index];
};

/**
 * The fields. `texts` and `change(texts)` are the form's state, as `textsOf` begins it.
 * @param {{ schema: ArgumentSchema, texts: Texts, change: (texts: Texts) => void, wrong?: Wrong }} props
 */
function SchemaFields({ schema, texts, change, wrong = {} }) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, one]) => {
    const found = resolved(one, schema);
    /** @param {string} text */
    const set = (text) => change({ ...texts, [name]: text });
    const needed = required.has(name);
    const common = { key: name, label: `${name}${needed ? " *" : ""}`, wrong: wrong[name], hint: hintOf(found), "aria-required": needed };
    switch (kindOf(found)) {
      case "boolean":
        return html`<${Choice} ...${common} value=${texts[name] ?? ""} onChange=${set} options=${[["", "–"], "true", "false"]} />`;
      case "choice":
        return html`<${Choice} ...${common} value=${texts[name] ?? ""} onChange=${set} options=${[["", "–"], ...(found.enum ?? []).map(String)]} />`;
      case "integer":
      case "number":
        return html`<${Field} ...${common} value=${texts[name] ?? ""} onChange=${set} inputmode="decimal" />`;
      case "json":
        return html`<${Area} ...${common} value=${texts[name] ?? ""} onChange=${set} rows=${4} />`;
      default:
        return html`<${Words} ...${common} value=${texts[name] ?? ""} onChange=${set} />`;
    }
  });
}

/**
 * A text. One that comes with several lines gets as many: a field of one line would put them into one.
 * @param {{ value: string, [name: string]: unknown }} field
 */
function Words(field) {
  const [long] = useState(field.value.includes("\n"));
  return html`<${long ? Area : Field} ...${field} />`;
}

/** @param {ArgumentSchema} schema */
function hintOf(schema) {
  const kind = schema.format ?? schema.type ?? "JSON";
  const standard = schema.default === undefined ? "" : `, else ${pretty(schema.default).replace(/\s+/g, " ")}`;
  return [schema.description, `${kind}${schema.nullable ? " or null" : ""}${standard}`].filter(Boolean).join(" · ");
}
