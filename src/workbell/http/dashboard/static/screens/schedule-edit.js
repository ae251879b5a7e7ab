// A new schedule, and the change of one: saved only if it is still as it was read.
import { api, part, Problem, useMay } from "../api.js";
import { Check, Choice, Field, SubmitFoot, useSubmit } from "../components/form.js";
import { InputField, inputStateOf, readInput } from "../components/input-form.js";
import { Loading, Page, Section, Trouble } from "../components/page.js";
import { bodyOf, formOf, HIDDEN, hiddenOf, newForm, timingOf } from "../components/schedule-body.js";
import { CATCH_UP, declaredText, isDeclared, NextTicks, OUTSIDE, OVERLAP } from "../components/schedules.js";
import { toast } from "../components/toasts.js";
import { zone } from "../preferences.js";
import { go, to } from "../router.js";
import { zoneName } from "../times.js";
import { html, toFirstWrong, useEffect, useMemo, useState } from "../ui.js";

const CHANGED = 412;
const FORBIDDEN = new Problem("Your token may read schedules, but not change them.");

/**
 * What both forms need: the jobs with their inputs; and the schedule with the version that was read.
 * @param {string | null} name
 * @param {number} [round]
 */
function useRead(name, round = 0) {
  const [seen, see] = useState(/** @type {{ jobs?: Api.Job[], schedule?: Api.Schedule, version?: string | null, problem?: Failure }} */ ({}));
  useEffect(() => {
    let over = false;
    see({});
    const read = async () => {
      const [{ items: jobs }, found] = await Promise.all([
        api.get("/jobs"),
        name === null ? null : api.get(`/schedules/${part(name)}`, {}, { whole: true }),
      ]);
      return { jobs, schedule: found?.body, version: found?.headers.get("etag") };
    };
    read().then((found) => over || see(found), (problem) => over || see({ problem }));
    return () => (over = true);
  }, [name, round]);
  return seen;
}

export function NewSchedule() {
  const may = useMay("operate");
  const { jobs, problem } = useRead(null);
  /**
   * @param {string} name
   * @param {ScheduleBody} body
   */
  const save = async (name, body) => {
    try {
      await api.put(`/schedules/${part(name)}`, body, { headers: { "If-None-Match": "*" } });
    } catch (refused) {
      if (refused.status !== CHANGED) throw refused;
      throw new Problem(`There is a schedule called ${name} already; edit it, or choose another name.`);
    }
    toast(`${name} is made.`);
    go(to(["schedules", name]));
  };
  return html`
    <${Page} title="New schedule" lead="When a job is to run by itself.">
      <${Trouble} problem=${may ? problem : FORBIDDEN} />
      ${may && !problem && !jobs && html`<${Loading} />`}
      ${may && jobs && html`<${ScheduleForm} jobs=${jobs} save=${save} cancel=${() => go(to(["schedules"]))} />`}
    <//>
  `;
}

/** @param {{ name: string }} props */
export function EditSchedule({ name }) {
  const may = useMay("operate");
  const [round, setRound] = useState(0);
  const [conflict, setConflict] = useState(false);
  const { jobs, schedule, version, problem } = useRead(name, round);
  const leave = () => go(to(["schedules", name]));
  /**
   * @param {string} _name
   * @param {ScheduleBody} body
   */
  const save = async (_name, body) => {
    try {
      await api.put(`/schedules/${part(name)}`, body, { headers: { "If-Match": version ?? "" } });
    } catch (refused) {
      setConflict(refused.status === CHANGED);
      throw refused;
    }
    toast(`${name} is saved.`);
    leave();
  };
  const again = () => {
    setConflict(false);
    setRound(round + 1);
  };
  return html`
    <${Page} title=${`Edit ${name}`} lead=${schedule?.in_words}>
      <${Trouble} problem=${may ? problem : FORBIDDEN} />
      ${may && !problem && !jobs && html`<${Loading} />`}
      ${may && jobs && schedule && html`
        ${isDeclared(schedule) && html`<p class="notice">${declaredText(schedule)}</p>`}
        <${ScheduleForm} key=${round} schedule=${schedule} jobs=${jobs} save=${save} cancel=${leave}>
          <${Kept} schedule=${schedule} />
          ${conflict && html`<div class="notice">
            <p>Somebody else has changed this schedule since you opened the form. Nothing of yours is saved.</p>
            <button type="button" onClick=${again}>Read it again, without my changes</button>
          </div>`}
        <//>
      `}
    <//>
  `;
}

/**
 * What the form does not show is not lost.
 * @param {{ schedule: Api.Schedule }} props
 */
function Kept({ schedule }) {
  const names = hiddenOf(schedule).map((word) => HIDDEN[word]);
  return names.length ? html`<p class="faint">Not shown here, and kept as it is: ${names.join(", ")}.</p>` : null;
}

// The form of a schedule, with a preview of its ticks that follows what is typed.

/** @import { ScheduleTexts } from "../components/schedule-body.js" */

const KINDS = [["cron", "by a cron expression"], ["interval", "every so often"], ["once", "once, at a time"]];
const ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((one) => one !== "UTC")];

/**
 * `schedule` is what is changed, none for a new one; `save(name, body)` is async and throws what is shown.
 * @param {{ schedule?: Api.Schedule | null, jobs: Api.Job[], save: (name: string, body: ScheduleBody) => Promise<void>, cancel: () => void, children?: Child }} props
 */
function ScheduleForm({ schedule = null, jobs, save, cancel, children }) {
  const [choice] = useState(zone.get()); // times in fields do not jump when the page's zone is switched
  const [form, setForm] = useState(() => (schedule ? formOf(schedule, choice) : newForm(jobs[0]?.name ?? "")));
  /** @param {string} name */
  const schemaOf = (name) => jobs.find((job) => job.name === name)?.input_schema ?? null;
  const schema = schemaOf(form.job);
  const [input, setInput] = useState(() => inputStateOf(schema, schedule?.input ?? {}));
  const [wrong, setWrong] = useState(/** @type {Wrong} */ ({}));
  const [wrongInput, setWrongInput] = useState(/** @type {Wrong | undefined} */ (undefined));
  /** @param {keyof ScheduleTexts} word */
  const set = (word) => (/** @type {string | boolean} */ value) => setForm((before) => ({ ...before, [word]: value }));
  const timing = timingOf(form, schedule, choice);

  /** @param {string} name */
  const chooseJob = (name) => {
    const found = readInput(schema, input).input;
    if (found) setInput(inputStateOf(schemaOf(name), found));
    set("job")(name);
  };
  const { send, busy, problem } = useSubmit(async (event) => {
    const read = readInput(schema, input);
    const { body, wrong: found = {} } = bodyOf(form, read.input, schedule, choice);
    if (!schedule && !form.name.trim()) found.name = "What is it called?";
    setWrong(found);
    setWrongInput(read.wrong);
    if (!body || Object.keys(found).length || read.wrong) {
      toFirstWrong(event.target);
      throw new Error("Something is missing or wrong; see the fields.");
    }
    await save(form.name.trim(), body);
  });
  const shared = { form, set, wrong };
  return html`
    <form class="schedule-form" onSubmit=${send} noValidate>
      <div class="schedule-columns">
        <${Section} title="What and when">
          <div class="form">
            ${!schedule && html`<${Field} label="Name" value=${form.name} onChange=${set("name")} wrong=${wrong.name} maxlength="200" />`}
            <${Choice} label="Job" value=${form.job} onChange=${chooseJob} options=${jobNames(jobs, form.job)} wrong=${wrong.job} />
            <${When} ...${shared} wrong=${{ ...wrong, ...(form.kind === "cron" ? {} : timing.wrong) }} choice=${choice} />
          </div>
        <//>
        <${Section} title="What this comes to"><${SchedulePreview} asked=${timing.asked} /><//>
        <${Section} title="Input of every run">
          <div class="form"><${InputField} schema=${schema} state=${input} change=${setInput} wrong=${wrongInput} /></div>
        <//>
      </div>
      <${Section} title="Rules"><${Manners} ...${shared} /><//>
      ${children}
      <${SubmitFoot} label=${schedule ? "Save" : "Create schedule"} busy=${busy} problem=${problem} close=${cancel} />
    </form>
  `;
}

/**
 * @param {Api.Job[]} jobs
 * @param {string} current
 */
const jobNames = (jobs, current) => [...new Set([...jobs.map((job) => job.name), current])].filter(Boolean);

/** @param {{ form: ScheduleTexts, set: (word: keyof ScheduleTexts) => (value: string | boolean) => void, wrong: Wrong, choice: string }} props */
function When({ form, set, wrong, choice }) {
  const zones = useMemo(() => html`<datalist id="schedule-zones">${ZONES.map((one) => html`<option key=${one} value=${one} />`)}</datalist>`, []);
  return html`
    <${Choice} label="It runs" value=${form.kind} onChange=${set("kind")} options=${KINDS} />
    ${form.kind === "cron" && html`<${Field} label="Cron expression" value=${form.cron} onChange=${set("cron")} wrong=${wrong.cron} class="mono"
      hint="minute hour day month weekday; six fields have seconds first" />`}
    ${form.kind === "interval" && html`
      <${Field} label="Every" value=${form.every} onChange=${set("every")} wrong=${wrong.every} placeholder="15m" hint="30s, 5m, 1h30m, 2d" />
      <${Field} label="Counted from" value=${form.anchor} onChange=${set("anchor")} placeholder="2026-11-16T00:00:00Z" hint="otherwise from now" />
    `}
    ${form.kind === "once" && html`<${Field} label=${`At (${choice === "utc" ? "UTC" : zoneName("local")}, this page's zone)`} type="datetime-local" step="1"
      value=${form.at} onChange=${set("at")} wrong=${wrong.at} />`}
    <${Field} label="Time zone" value=${form.timezone} onChange=${set("timezone")} wrong=${wrong.timezone} list="schedule-zones" />
    ${zones}
    <div class="form-columns">
      <${Field} label="Runs start from" type="time" value=${form.from} onChange=${set("from")} wrong=${wrong.from} hint="empty: the whole day" />
      <${Field} label="until" type="time" value=${form.to} onChange=${set("to")} wrong=${wrong.to} hint="earlier than from: over midnight" />
    </div>
    ${form.from && form.to && html`<${Choice} label="A tick outside this window" value=${form.outside} onChange=${set("outside")} options=${Object.entries(OUTSIDE)} />`}
    <${Check} label="Enabled" checked=${form.enabled} onChange=${set("enabled")} />
  `;
}

/** @param {{ form: ScheduleTexts, set: (word: keyof ScheduleTexts) => (value: string | boolean) => void, wrong: Wrong }} props */
function Manners({ form, set, wrong }) {
  return html`
    <div class="form-columns">
      <${Choice} label="If the previous run is still going" value=${form.overlap} onChange=${set("overlap")} options=${Object.entries(OVERLAP)} />
      <${Choice} label="After an outage" value=${form.catch_up} onChange=${set("catch_up")} options=${Object.entries(CATCH_UP)} />
      ${form.catch_up === "all" && html`<${Field} label="At the most" value=${form.catch_up_cap} onChange=${set("catch_up_cap")} wrong=${wrong.catch_up_cap}
        inputmode="numeric" hint="runs, the newest ticks first" />`}
      <${Field} label="Spread over" value=${form.jitter} onChange=${set("jitter")} wrong=${wrong.jitter} hint="such as 30s: runs start up to that long after the tick" />
      <${Field} label="Timeout" value=${form.timeout} onChange=${set("timeout")} wrong=${wrong.timeout} hint="such as 10m; otherwise the job's own" />
      <${Field} label="Queue" value=${form.queue} onChange=${set("queue")} maxlength="200" hint="otherwise the job's own" />
      <${Field} label="Priority" value=${form.priority} onChange=${set("priority")} wrong=${wrong.priority} inputmode="numeric" hint="-100 to 100; higher runs first. Empty: that of the job." />
      <${Field} label="Description" value=${form.description} onChange=${set("description")} maxlength="2000" />
    </div>
  `;
}

// What a timing comes to, while it is typed: in words, its next ticks, or what is wrong with it in the server's words.

const PAUSE = 300; // after the last key

/**
 * `asked` is the body of POST /cron/preview; none while the form says itself what is missing.
 * @param {{ asked: Api.Body<"POST", "/cron/preview"> | undefined }} props
 */
function SchedulePreview({ asked }) {
  const words = asked ? JSON.stringify({ ...asked, n: 5 }) : null;
  const [seen, see] = useState(/** @type {{ ticks?: Api.Answer<"POST", "/cron/preview">, problem?: Failure }} */ ({}));
  useEffect(() => {
    if (words === null) return see({});
    const mine = new AbortController();
    const timer = setTimeout(async () => {
      try {
        see({ ticks: await api.post("/cron/preview", JSON.parse(words), { signal: mine.signal }) });
      } catch (problem) {
        if (!mine.signal.aborted) see({ problem });
      }
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      mine.abort();
    };
  }, [words]);
  return html`
    <div class="schedule-preview">
      <div aria-live="polite">
        ${seen.problem && html`<p class="trouble">${seen.problem.message}</p>`}
        ${seen.ticks && html`<p class="strong">${seen.ticks.in_words}</p>`}
        ${!seen.problem && !seen.ticks && html`<p class="faint">Say when, and the next ticks appear here.</p>`}
      </div>
      ${seen.ticks && html`<${NextTicks} ticks=${seen.ticks} caption="Ticks that this would make" />`}
    </div>
  `;
}
