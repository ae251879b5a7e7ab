// The filter of runs. What is chosen stands in the address, in the words of GET /runs, so a link to it can be shared.
import { Problem } from "../api.js";
import { usePoll } from "../poll.js";
import { go, to, useLocation } from "../router.js";
import { html, useEffect, useState } from "../ui.js";
import { Choice, Field } from "./field.js";

export const STATUSES = ["scheduled", "queued", "running", "succeeded", "failed", "canceled"];
const NAMES = ["job", "queue", "tag", "schedule", "target", "event", "since", "until"];
const MORE = ["queue", "tag", "schedule", "user_id", "target", "event", "since", "until"];
const FIELD = "input.";

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
  const user = query.get("user_id");
  if (user) {
    if (!/^\d+$/.test(user)) return { words: {}, problem: new Problem(`user: ${user} is no whole number.`) };
    words.user_id = user;
    topic.user_id = Number(user);
  }
  for (const [name, text] of query) {
    if (!name.startsWith(FIELD) || name.length === FIELD.length) continue;
    words[name] = text;
    topic.input = { ...topic.input, [name.slice(FIELD.length)]: plain(text) };
  }
  for (const name of ["since", "until"]) {
    if (words[name] && Number.isNaN(Date.parse(words[name]))) {
      return { words: {}, problem: new Problem(`${name}: ${words[name]} is no time such as 2026-11-16T09:00:00Z.`) };
    }
  }
  return { words: { query: words, topic, any: Object.keys(words).length > 0 }, problem: null };
}

/** As the API reads it: a JSON value if it is one, else a text. */
function plain(text) {
  try {
    const value = JSON.parse(text);
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
  const hidden = MORE.some((name) => words[name]) || fields.length > 0;
  const names = (jobs?.items ?? []).map((job) => job.name);
  return html`
    <form class="filter" role="search" aria-label="Filter of runs" onSubmit=${(event) => event.preventDefault()}>
      <div class="filter-row">
        <div class="chips" role="group" aria-label="Status">
          ${STATUSES.map((one) => html`<button key=${one} type="button" class="chip" aria-pressed=${statuses.includes(one)} onClick=${() => toggle(one)}>${one}</button>`)}
        </div>
        <${Choice} label="Job" value=${words.job ?? ""} onChange=${(job) => set({ job })} data-filter
          options=${[["", "every job"], ...new Set([...names, ...(words.job ? [words.job] : [])])]} />
        <${Typed} label="Input field" value=${fieldText(words, fields)} placeholder="customer.id=42"
          onDone=${(text) => set({ ...Object.fromEntries(fields.map((name) => [name, ""])), ...fieldWords(text) })} />
        ${(hidden || statuses.length > 0 || words.job) && html`<button type="button" class="small" onClick=${() => go(to(parts, {}))}>Clear</button>`}
      </div>
      <details open=${hidden}>
        <summary>More filters</summary>
        <div class="filter-row">
          ${["queue", "tag", "schedule", "user_id", "target", "event"].map((name) => html`<${Typed} key=${name} label=${name === "user_id" ? "User" : name} value=${words[name] ?? ""} onDone=${(text) => set({ [name]: text })} />`)}
          ${["since", "until"].map((name) => html`<${Typed} key=${name} label=${name} value=${words[name] ?? ""} placeholder="2026-11-16T09:00:00Z" onDone=${(text) => set({ [name]: text })} />`)}
        </div>
      </details>
    </form>
  `;
}

const fieldText = (words, fields) => fields.map((name) => `${name.slice(FIELD.length)}=${words[name]}`).join(" ");

function fieldWords(text) {
  const found = text.trim().match(/^([^=\s]+)=(.*)$/);
  return found ? { [`${FIELD}${found[1]}`]: found[2] } : {};
}

/** A text that counts once Enter is pressed or the field is left, not at every letter. */
function Typed({ label, value, onDone, placeholder }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const done = () => text !== value && onDone(text.trim());
  return html`<${Field} label=${label} value=${text} onChange=${setText} placeholder=${placeholder}
    onBlur=${done} onKeyDown=${(event) => event.key === "Enter" && done()} />`;
}
