// Schedules: their list, one of them with its history, and the form that makes or changes one. The form is a word in the
// address's query and no part of its path, because a schedule may be called "new".
import { api, part, useMay } from "../api.js";
import { DayBar } from "../components/day-bar.js";
import { Action } from "../components/dialog.js";
import { Field } from "../components/form.js";
import { Empty, Facts, Loading, Page, Pager, Section, Trouble } from "../components/page.js";
import { CATCH_UP, declaredText, isDeclared, LastOutcome, NextTick, NextTicks, OUTSIDE, OVERLAP, sourceText, State } from "../components/schedules.js";
import { Status } from "../components/status.js";
import { Settled, Table } from "../components/table.js";
import { Json } from "../components/value.js";
import { useLive, usePoll } from "../live.js";
import { go, Link, setQuery, to, useLocation } from "../router.js";
import { spanText, Time } from "../times.js";
import { html, useEffect } from "../ui.js";
import { EditSchedule, NewSchedule } from "./schedule-edit.js";

/** @param {{ parts: string[] }} props */
export function Schedules({ parts }) {
  const { query } = useLocation();
  const [name] = parts;
  if (name === undefined) return query.get("new") ? html`<${NewSchedule} />` : html`<${ScheduleList} />`;
  return query.get("edit") ? html`<${EditSchedule} name=${name} />` : html`<${Schedule} name=${name} />`;
}

// The list of schedules, live, with a filter that stands in the address.

const PAGE = 100;
/**
 * @param {Api.Schedule} one
 * @param {Api.Schedule} other
 */
const byName = (one, other) => (one.name < other.name ? -1 : 1);

function ScheduleList() {
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

// One schedule: when it ticks, what each tick does, what became of the last ones; and to pause, run, edit or delete it.

/** @param {{ name: string }} props */
function Schedule({ name }) {
  const path = /** @type {const} */ (`/schedules/${part(name)}`);
  const { data: schedule, problem, reload } = usePoll(path, {}, 2);
  const actions = schedule && html`<${Actions} schedule=${schedule} path=${path} reload=${reload} />`;
  return html`
    <${Page} title=${name} heading=${name} lead=${schedule && html`<${Lead} schedule=${schedule} />`} actions=${actions}>
      <${Trouble} problem=${problem} />
      ${schedule ? html`<${Shown} schedule=${schedule} path=${path} />` : !problem && html`<${Loading} />`}
    <//>
  `;
}

/** @param {{ schedule: Api.Schedule }} props */
function Lead({ schedule }) {
  return html`<span class="schedule-lead"><${State} schedule=${schedule} /><span>${schedule.in_words}</span></span>`;
}

/** @param {{ schedule: Api.Schedule, path: SchedulePath, reload: Reload }} props */
function Actions({ schedule, path, reload }) {
  const may = useMay("operate");
  const { name } = schedule;
  /**
   * @param {"pause" | "resume"} verb
   * @param {string} said
   */
  const steer = (verb, said) => async () => {
    await api.post(`${path}/${verb}`);
    await reload();
    return said;
  };
  const runNow = async () => {
    const run = await api.post(`${path}/run`);
    go(to(["runs", run.id]));
  };
  const remove = async () => {
    await api.remove(path);
    go(to(["schedules"]));
    return `${name} is deleted.`;
  };
  const gone = "It starts nothing more, and its history goes with it. Its runs stay.";
  const ask = isDeclared(schedule)
    ? { title: `Delete ${name}?`, text: `${gone} ${declaredText(schedule)}`, action: "Delete" }
    : { title: `Delete ${name}?`, text: gone, action: "Delete", word: name };
  return html`
    <${Action} label="Run now" classes="primary" run=${runNow} title="With its input and settings; its ticks go on as before" />
    ${
      schedule.paused
        ? html`<${Action} key="resume" label="Resume" run=${steer("resume", `${name} is resumed: it goes on with its next run.`)} />`
        : html`<${Action} key="pause" label="Pause" run=${steer("pause", `${name} is paused.`)} />`
    }
    ${may && html`<${Link} class="button" to=${to(["schedules", name], { edit: 1 })}>Edit<//>`}
    <${Action} label="Delete" classes="danger" ask=${ask} run=${remove} />
  `;
}

/** @param {{ schedule: Api.Schedule, path: SchedulePath }} props */
function Shown({ schedule, path }) {
  const { name } = schedule;
  const runs = html`<${Link} to=${to(["runs"], { schedule: name })}>Its runs<//>`;
  return html`
    ${schedule.last_error && html`<p class="trouble">${schedule.last_error}</p>`}
    <div class="columns">
      <${Section} title="When"><${Facts} facts=${whenFacts(schedule)} /><//>
      <${Section} title="Next 5 runs"><${Upcoming} schedule=${schedule} path=${path} /><//>
    </div>
    <${Section} title="Today"><${DayBar} key=${schedule.updated_at} schedule=${schedule} /><//>
    <div class="columns">
      <${Section} title="Rules"><${Facts} facts=${tickFacts(schedule)} /><//>
      <${Section} title="Input of every run"><${Json} value=${schedule.input} name="Input of every run" /><//>
    </div>
    <${Section} title="History" actions=${runs}><${TickLedger} schedule=${schedule} /><//>
  `;
}

/** @param {{ schedule: Api.Schedule, path: SchedulePath }} props */
function Upcoming({ schedule, path }) {
  const { data, problem, reload } = usePoll(`${path}/preview`, { n: 5 }, 60);
  const stands = `${schedule.next_run_at} ${schedule.updated_at}`;
  useEffect(() => {
    if (data) reload();
  }, [stands]);
  if (!data) return problem ? html`<${Trouble} problem=${problem} />` : html`<${Loading} />`;
  const idle = schedule.paused ? "While it is paused, none of these makes a run." : "It is disabled: none of these makes a run.";
  return html`
    ${(schedule.paused || !schedule.enabled) && html`<p class="notice">${idle}</p>`}
    <${NextTicks} ticks=${data} />
  `;
}

/** @param {Api.Schedule} schedule */
const whenFacts = (schedule) => [
  ["Expression", html`<code>${schedule.expression}</code>`],
  ["Zone", schedule.timezone],
  ["Next", html`<${NextTick} schedule=${schedule} />`],
  ["Last", html`<${LastOutcome} schedule=${schedule} />`],
  ["Runs made", schedule.run_count.toLocaleString("en")],
  ["Failures", schedule.failure_count.toLocaleString("en")],
  ["Declared", sourceText(schedule)],
  ["Created by", schedule.created_by],
  ["Description", schedule.description],
  ["Changed", html`<${Time} at=${schedule.updated_at} />`],
];

/** @param {Api.Schedule} schedule */
const tickFacts = (schedule) => [
  ["Job", html`<${Link} to=${to(["jobs", schedule.job])}>${schedule.job}<//>`],
  ["If the previous run is still going", OVERLAP[schedule.overlap]],
  ["After an outage", `${CATCH_UP[schedule.catch_up]}${schedule.catch_up === "all" ? `, up to ${schedule.catch_up_cap}` : ""}`],
  ["A tick outside the window", schedule.window && OUTSIDE[schedule.outside]],
  ["Start", schedule.jitter ? `up to ${spanText(schedule.jitter)} after the tick` : "at the tick"],
  ["Queue", schedule.queue ?? "the job's own"],
  ["Priority", schedule.priority === null ? "the job's own" : String(schedule.priority)],
  ["Timeout", schedule.timeout === null ? "the job's own" : spanText(schedule.timeout)],
  ["Attempts", schedule.retry ? `${schedule.retry.attempts}, first wait ${spanText(Number(schedule.retry.delay))}` : "as the job says"],
  ["Agent", schedule.target],
  ["Failures are sent to", schedule.alert_url],
  ["Every end is sent to", schedule.ping_url],
];

// What became of a schedule's ticks, newest first; the first page keeps up with the schedule.

const LEDGER_PAGE = 25;
const STRETCH = 60; // seconds: while the window is closed, the row of the ticks outside it grows and the schedule stays

/** @param {{ schedule: Api.Schedule }} props */
function TickLedger({ schedule }) {
  const before = useLocation().query.get("before");
  const { data, problem, reload } = usePoll(`/schedules/${part(schedule.name)}/ticks`, { before, limit: LEDGER_PAGE }, schedule.window && !before ? STRETCH : 0);
  const stands = `${schedule.last_scheduled_at} ${schedule.last_fire_at} ${schedule.last_run_id} ${schedule.updated_at}`;
  useEffect(() => {
    if (data && !before) reload();
  }, [stands]);
  if (!data) return problem ? html`<${Trouble} problem=${problem} />` : html`<${Loading} />`;
  if (!data.items.length) return html`<${Empty}>${before ? "There is nothing older." : "Nothing has been due yet."}<//>`;
  return html`
    <${Table} caption="History" columns=${LEDGER_COLUMNS} rows=${data.items} keyOf=${(tick) => tick.due} />
    <${Pager} next=${data.next} />
  `;
}

/** @type {Column<Api.Tick>[]} */
const LEDGER_COLUMNS = [
  { name: "Due", classes: "when", cell: (tick) => html`<${Due} tick=${tick} />` },
  { name: "Outcome", cell: (tick) => html`<${Status} of=${tick.outcome} />` },
  { name: "Ticks", classes: "number", cell: (tick) => tick.count.toLocaleString("en") },
  { name: "Reason", classes: "wide", cell: (tick) => tick.reason ?? "" },
  { name: "Run", cell: (tick) => tick.run && html`<${Link} to=${to(["runs", tick.run])} aria-label=${`The run of the tick due ${tick.due}`}>run<//>` },
];

/**
 * An instant, or a span of them that shared one fate.
 * @param {{ tick: Api.Tick }} props
 */
function Due({ tick }) {
  if (!tick.until) return html`<${Time} at=${tick.due} />`;
  return html`<div class="stacked"><${Time} at=${tick.due} /><span class="faint">until <${Time} at=${tick.until} /></span></div>`;
}
