// A form made from the JSON Schema of a handler's arguments; what a simple control cannot hold is edited as JSON.
import { parse, pretty } from "../json.js";
import { html, useState } from "../ui.js";
import { Area, Choice, Field } from "./field.js";

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
export function textsOf(schema, input = {}) {
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
export function inputOf(schema, texts) {
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
export function SchemaFields({ schema, texts, change, wrong = {} }) {
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
