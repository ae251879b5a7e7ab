// One schedule: when it ticks, what each tick does, what became of the last ones; and to pause, run, edit or delete it.
import { api, part } from "../api.js";
import { Action } from "../components/action.js";
import { DayBar } from "../components/day-bar.js";
import { NextTicks } from "../components/next-ticks.js";
import { Facts, Loading, Page, Section, Trouble } from "../components/page.js";
import { LastOutcome, NextTick, State } from "../components/schedule-state.js";
import { CATCH_UP, declaredText, isDeclared, OVERLAP, OUTSIDE, sourceText } from "../components/schedule-words.js";
import { TickLedger } from "../components/tick-ledger.js";
import { Json } from "../components/value.js";
import { usePoll } from "../poll.js";
import { go, Link, to } from "../router.js";
import { useMay } from "../session.js";
import { spanText, Time } from "../times.js";
import { html, useEffect } from "../ui.js";

/** @param {{ name: string }} props */
export function Schedule({ name }) {
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
      <${Section} title="Input of every run"><${Json} value=${schedule.payload} name="Input of every run" /><//>
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
