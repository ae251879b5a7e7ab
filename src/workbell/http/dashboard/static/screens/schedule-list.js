// The list of schedules, live, with a filter that stands in the address.
import { Field } from "../components/field.js";
import { Empty, Loading, Page, Trouble } from "../components/page.js";
import { Pager, setQuery } from "../components/pager.js";
import { LastOutcome, NextTick, State } from "../components/schedule-state.js";
import { Settled } from "../components/settled.js";
import { Table } from "../components/table.js";
import { useLive } from "../live.js";
import { Link, to, useLocation } from "../router.js";
import { useMay } from "../session.js";
import { html } from "../ui.js";

const PAGE = 100;
/**
 * @param {Api.Schedule} one
 * @param {Api.Schedule} other
 */
const byName = (one, other) => (one.name < other.name ? -1 : 1);

export function ScheduleList() {
  const may = useMay("operate");
  const { rows, problem } = useLive("schedules", {}, (schedule) => schedule.name);
  const actions = may && html`<${Link} class="button primary" to=${to(["schedules"], { new: 1 })}>New schedule<//>`;
  return html`
    <${Page} title="Schedules" lead="When jobs run by themselves." actions=${actions}>
      <${Trouble} problem=${problem} />
      ${rows ? html`<${Found} all=${[...rows.values()]} />` : !problem && html`<${Loading} />`}
    <//>
  `;
}

/** @param {{ all: Api.Schedule[] }} props */
function Found({ all }) {
  const { parts, query } = useLocation();
  const text = query.get("text") ?? "";
  const after = query.get("after") ?? "";
  const matching = all.filter((schedule) => matches(schedule, text)).sort(byName);
  const rest = matching.filter((schedule) => schedule.name > after);
  const page = rest.slice(0, PAGE);
  if (!all.length) return html`<${None} />`;
  return html`
    <form class="filter" role="search" aria-label="Filter of schedules" onSubmit=${(event) => event.preventDefault()}>
      <div class="filter-row">
        <${Field} label="Name, job, time or zone" type="search" value=${text} data-filter
          onChange=${(typed) => setQuery(parts, { text: typed, after: "" }, { replace: true })} />
        <p class="faint" role="status">${matching.length} of ${all.length}</p>
      </div>
    </form>
    <${Listed} key=${`${text} ${after}`} found=${page} whole=${matching.length <= PAGE} />
    <${Pager} name="after" next=${rest.length > PAGE ? page[PAGE - 1].name : null} first="« First" further="More »" />
  `;
}

/**
 * @param {Api.Schedule} schedule
 * @param {string} text
 */
function matches(schedule, text) {
  const { name, job, in_words: words, expression, timezone, description, queue } = schedule;
  const whole = [name, job, words, expression, timezone, description, queue ?? ""].join("\n").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => whole.includes(word));
}

/**
 * Sorted only if the `whole` of them is there: the order of one page would be taken for that of all.
 * @param {{ found: Api.Schedule[], whole: boolean }} props
 */
function Listed({ found, whole }) {
  /** @type {Column<Api.Schedule>[]} */
  const columns = whole ? COLUMNS : COLUMNS.map((column) => ({ ...column, by: undefined }));
  /** @param {Api.Schedule} schedule */
  const keyOf = (schedule) => schedule.name;
  return html`
    <${Settled} found=${found} keyOf=${keyOf} empty=${html`<${Empty}>No schedule matches this filter.<//>`}>
      ${(rows) => html`<div class="schedules">
        <${Table} caption="Schedules" columns=${columns} rows=${rows} keyOf=${keyOf} rowLink rowClass=${(schedule) => (schedule.gone ? "gone" : "")} />
      </div>`}
    <//>
  `;
}

/** @type {Column<Api.Schedule>[]} */
const COLUMNS = [
  { name: "Schedule", by: (schedule) => schedule.name, cell: (schedule) => html`<${Link} class="strong name" to=${to(["schedules", schedule.name])}>${schedule.name}<//>` },
  { name: "Job", by: (schedule) => schedule.job, cell: (schedule) => html`<${Link} class="name" to=${to(["jobs", schedule.job])}>${schedule.job}<//>` },
  {
    name: "When",
    classes: "wide",
    cell: (schedule) => html`<div class="stacked">
      <span>${schedule.in_words}</span><span class="faint"><code>${schedule.expression}</code> · ${schedule.timezone}</span>
    </div>`,
  },
  { name: "Next", classes: "when", by: (schedule) => schedule.next_run_at && Date.parse(schedule.next_run_at), cell: (schedule) => html`<${NextTick} schedule=${schedule} />` },
  { name: "Last", cell: (schedule) => html`<${LastOutcome} schedule=${schedule} />` },
  { name: "State", cell: (schedule) => html`<${State} schedule=${schedule} />` },
];

const CODE = '@bell.job(cron="0 3 * * *")\ndef nightly() -> None: ...';
const COMMAND = 'workbell schedules add nightly --job JOB --cron "0 3 * * *"';

function None() {
  return html`
    <div class="columns">
      <${Empty} code=${CODE}>There is no schedule yet. Declare one with its job, in code:<//>
      <${Empty} code=${COMMAND}>Or give one to a job that there is:<//>
    </div>
  `;
}
