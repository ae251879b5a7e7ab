// The filter of runs. What is chosen stands in the address, in the words of GET /runs, so a link to it can be shared.
import { Problem } from "../api.js";
import { parse } from "../json.js";
import { usePoll } from "../poll.js";
import { zone } from "../preferences.js";
import { go, to, useLocation } from "../router.js";
import { html } from "../ui.js";
import { Choice } from "./field.js";
import { StatusChip } from "./status-chip.js";
import { Typed } from "./typed.js";

export const STATUSES = ["scheduled", "queued", "running", "succeeded", "failed", "canceled"];
const NAMES = ["job", "queue", "tag", "schedule", "user_id", "target", "event", "retry_of", "since", "until"];
const OTHERS = ["queue", "tag", "schedule", "user_id", "target", "event"];
const TIMES = ["since", "until"];
const LABELS = { queue: "Queue", tag: "Tag", schedule: "Schedule", target: "Target", event: "Event id", since: "Since", until: "Until" };
const FIELD = "input.";
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?\s*(Z|[+-]\d\d:?\d\d)?$/i;

/**
 * The filter of an address: `{words: {query, topic, any}, problem}`: in the words of GET /runs, in those of the topic
 * and of bulk actions, and whether anything is asked for.
 */
export function filterOf(query) {
  const words = {};
  const topic = {};
  const status = query.getAll("status").filter(Boolean);
  if (status.length) words.status = topic.status = status;
  for (const name of NAMES) {
    if (query.get(name)) words[name] = topic[name] = query.get(name);
  }
  if (["true", "false"].includes(query.get("retried"))) {
    words.retried = query.get("retried");
    topic.retried = words.retried === "true";
  }
  for (const [name, text] of query) {
    if (!name.startsWith(FIELD) || name.length === FIELD.length) continue;
    words[name] = text;
    topic.input = { ...topic.input, [name.slice(FIELD.length)]: plain(text) };
  }
  for (const name of TIMES) {
    if (words[name] && !(TIME.exec(words[name])?.[3] && Date.parse(words[name]))) {
      return { words: {}, problem: new Problem(`${name}: ${words[name]} is no time with its zone, such as 2026-11-16T09:00:00Z.`) };
    }
  }
  return { words: { query: words, topic, any: Object.keys(words).length > 0 }, problem: null };
}

/** As the API reads it: a JSON value if it is one, else a text. */
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
  const set = (changes) => go(to(parts, { ...words, status: statuses, ...changes }));
  const toggle = (one) => set({ status: statuses.includes(one) ? statuses.filter((other) => other !== one) : [...statuses, one] });
  const fields = Object.keys(words).filter((name) => name.startsWith(FIELD));
  const hidden = [...OTHERS, ...TIMES, "retried", "retry_of"].some((name) => words[name]) || fields.length > 0;
  const names = (jobs?.items ?? []).map((job) => job.name);
  return html`
    <form class="filter" role="search" aria-label="Filter of runs" onSubmit=${(event) => event.preventDefault()}>
      <div class="filter-row">
        <div class="chips" role="group" aria-label="Status">
          ${STATUSES.map((one) => html`<${StatusChip} key=${one} status=${one} words=${filterOf(query).words.query} pressed=${statuses.includes(one)} onClick=${() => toggle(one)} />`)}
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
          ${OTHERS.map((name) => html`<${Typed} key=${name} label=${name === "user_id" ? "User" : LABELS[name]} value=${words[name] ?? ""} onDone=${(text) => set({ [name]: text })} />`)}
          <${Choice} label="Retried" value=${words.retried ?? ""} onChange=${(retried) => set({ retried })}
            options=${[["", "either"], ["true", "retried"], ["false", "not retried"]]} />
          ${TIMES.map((name) => html`<${Typed} key=${name} label=${LABELS[name]} value=${words[name] ?? ""} placeholder="2026-11-16 09:00" onDone=${(text) => set({ [name]: withZone(text) })} />`)}
        </div>
      </details>
    </form>
  `;
}

/** A time that somebody typed, with a zone: without one it is meant by the clock that the page shows. */
function withZone(text) {
  const [, date, clock = "00:00", offset] = TIME.exec(text) ?? [];
  if (!date || offset) return text;
  const at = new Date(`${date}T${clock}${zone.get() === "utc" ? "Z" : ""}`);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}

const AND = " & ";
const fieldText = (words, fields) => fields.map((name) => `${name.slice(FIELD.length)}=${words[name]}`).join(AND);

/** The parts of `customer.id=42 & paid=true`: of each its path and its value, or null if it cannot be read. */
const fieldParts = (text) => text.trim().split(/\s+&\s+(?=[^=\s]+=)/).map((one) => one.match(/^([^=\s]+)=(.*)$/));

/** What is wrong with the text; then it filters nothing. */
const fieldProblem = (text) => (!text.trim() || fieldParts(text).every(Boolean) ? null : "Write a path and its value, such as customer.id=42.");

const fieldWords = (text) => Object.fromEntries(fieldParts(text).filter(Boolean).map(([, name, value]) => [`${FIELD}${name}`, value]));
