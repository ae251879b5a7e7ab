// The filter of runs. What is chosen stands in the address, in the words of GET /runs, so a link to it can be shared.
import { parse, Problem } from "../api.js";
import { usePoll } from "../live.js";
import { zone } from "../preferences.js";
import { go, to, useLocation } from "../router.js";
import { html } from "../ui.js";
import { Choice, Typed } from "./form.js";
import { useRunCount } from "./run-table.js";
import { WORDS } from "./run-words.js";
import { countText } from "./value.js";

const STATUSES = ["scheduled", "queued", "running", "succeeded", "failed", "canceled"];
const FIRST_ROW = ["status", "job", "input"];
const OTHERS = WORDS.filter((word) => !FIRST_ROW.includes(word.name));
const FIELD = "input.";
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?\s*(Z|[+-]\d\d:?\d\d)?$/i;

/**
 * The filter of an address: `{words: {query, topic, any}, problem}`: in the words of GET /runs, in those of the topic
 * and of bulk actions, and whether anything is asked for; no words if they cannot be read.
 * @param {URLSearchParams} query
 * @returns {{ words: RunFilterWords, problem: null } | { words: null, problem: Problem }}
 */
export function filterOf(query) {
  /** @type {RunFilterWords["query"]} */
  const words = {};
  /** @type {RunFilterWords["topic"]} */
  const topic = {};
  for (const word of WORDS) {
    const text = query.get(word.name);
    if (word.kind === "statuses") {
      const statuses = /** @type {Api.RunStatus[]} */ (query.getAll(word.name).filter(Boolean)); // what is none the server refuses
      if (statuses.length) words[word.name] = topic[word.name] = statuses;
    } else if (word.kind === "yes-no") {
      if (text !== "true" && text !== "false") continue;
      words[word.name] = text;
      topic[word.name] = text === "true";
    } else if (word.kind !== "input" && text) {
      if (word.kind === "time" && !(TIME.exec(text)?.[3] && Date.parse(text))) {
        return { words: null, problem: new Problem(`${word.name}: ${text} is no time with its zone, such as 2026-11-16T09:00:00Z.`) };
      }
      words[word.name] = topic[word.name] = text;
    }
  }
  for (const [name, text] of query) {
    if (!name.startsWith(FIELD) || name.length === FIELD.length) continue;
    words[name] = text;
    topic.input = { ...topic.input, [name.slice(FIELD.length)]: plain(text) };
  }
  return { words: { query: words, topic, any: Object.keys(words).length > 0 }, problem: null };
}

/**
 * As the API reads it: a JSON value if it is one, else a text.
 * @param {string} text
 */
function plain(text) {
  try {
    const value = parse(text);
    return value === null || typeof value !== "object" ? value : text;
  } catch {
    return text;
  }
}

export function RunFilter() {
  const { parts, query } = useLocation();
  const { data: jobs } = usePoll("/jobs", {}, 0);
  const words = Object.fromEntries([...query].filter(([name]) => name !== "before" && name !== "status"));
  const statuses = query.getAll("status");
  /** @param {Api.Words} changes */
  const set = (changes) => go(to(parts, { ...words, status: statuses, ...changes }));
  /** @param {string} one */
  const toggle = (one) => set({ status: statuses.includes(one) ? statuses.filter((other) => other !== one) : [...statuses, one] });
  const fields = Object.keys(words).filter((name) => name.startsWith(FIELD));
  const hidden = OTHERS.some(({ name }) => words[name]) || fields.length > 0;
  const names = (jobs?.items ?? []).map((job) => job.name);
  return html`
    <form class="filter" role="search" aria-label="Filter of runs" onSubmit=${(event) => event.preventDefault()}>
      <div class="filter-row">
        <div class="chips" role="group" aria-label="Status">
          ${STATUSES.map((one) => html`<${StatusChip} key=${one} status=${one} words=${filterOf(query).words?.query} pressed=${statuses.includes(one)} onClick=${() => toggle(one)} />`)}
        </div>
        <${Choice} label="Job" value=${words.job ?? ""} onChange=${(job) => set({ job })}
          options=${[["", "every job"], ...new Set([...names, ...(words.job ? [words.job] : [])])]} />
        <${Typed} label="Input field" value=${fieldText(words, fields)} placeholder="customer.id=42" data-filter check=${fieldProblem}
          onDone=${(text) => set({ ...Object.fromEntries(fields.map((name) => [name, ""])), ...fieldWords(text) })} />
        ${(hidden || statuses.length > 0 || words.job) && html`<button type="button" class="small" onClick=${() => go(to(parts, {}))}>Clear</button>`}
      </div>
      <details open=${hidden}>
        <summary>More filters</summary>
        <div class="filter-row">
          ${OTHERS.map(({ name, kind, label }) => label && html`<${WordField} key=${name} kind=${kind} label=${label} value=${words[name] ?? ""} onDone=${(text) => set({ [name]: text })} />`)}
        </div>
      </details>
    </form>
  `;
}

/**
 * The field of a word, by its kind.
 * @param {{ kind: string, label: string, value: string, onDone: (text: string) => void }} props
 */
function WordField({ kind, label, value, onDone }) {
  if (kind === "yes-no") {
    const meant = label.toLowerCase();
    return html`<${Choice} label=${label} value=${value} onChange=${onDone} options=${[["", "either"], ["true", meant], ["false", `not ${meant}`]]} />`;
  }
  if (kind === "time") return html`<${Typed} label=${label} value=${value} placeholder="2026-11-16 09:00" onDone=${(text) => onDone(withZone(text))} />`;
  return html`<${Typed} label=${label} value=${value} onDone=${onDone} />`;
}

/**
 * A time that somebody typed, with a zone: without one it is meant by the clock that the page shows.
 * @param {string} text
 */
function withZone(text) {
  const [, date, clock = "00:00", offset] = TIME.exec(text) ?? [];
  if (!date || offset) return text;
  const at = new Date(`${date}T${clock}${zone.get() === "utc" ? "Z" : ""}`);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}

const AND = " & ";
/**
 * @param {{ [name: string]: string }} words
 * @param {string[]} fields
 */
const fieldText = (words, fields) => fields.map((name) => `${name.slice(FIELD.length)}=${words[name]}`).join(AND);

/**
 * The parts of `customer.id=42 & paid=true`: of each its path and its value, or null if it cannot be read.
 * @param {string} text
 */
const fieldParts = (text) => text.trim().split(/\s+&\s+(?=[^=\s]+=)/).map((one) => one.match(/^([^=\s]+)=(.*)$/));

/**
 * What is wrong with the text; then it filters nothing.
 * @param {string} text
 */
const fieldProblem = (text) => (!text.trim() || fieldParts(text).every(Boolean) ? null : "Write a path and its value, such as customer.id=42.");

/** @param {string} text */
const fieldWords = (text) => Object.fromEntries(fieldParts(text).flatMap((one) => (one ? [[`${FIELD}${one[1]}`, one[2]]] : [])));

// A status to filter by, with how many runs have it among those that the other words of the filter leave.

/**
 * `words` in those of GET /runs, or nothing while the filter cannot be read.
 * @param {{ status: string, words: Api.Words | undefined, pressed: boolean, onClick: () => void }} props
 */
function StatusChip({ status, words, pressed, onClick }) {
  const count = useRunCount(words && { ...words, status });
  return html`<button type="button" class="chip" aria-pressed=${pressed} onClick=${onClick}>
    ${status} ${count && html`<span class="chip-count">${countText(count)}</span>`}
  </button>`;
}
