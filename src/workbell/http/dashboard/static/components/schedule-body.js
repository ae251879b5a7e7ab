// Between a schedule and the form that changes it: the texts of the form, and the body of PUT /schedules/{name}.
//
// PUT says all of a schedule: what it does not name gets its default. So what the form does not show is sent as it was
// read, and so is what nobody has touched, lest it be rounded on its way through a text.
import { secondsOf, spanWords } from "./schedules.js";

/**
 * The settings that the form does not show: all those of PUT but those that `bodyOf` writes,
 * and those that say the same in other words.
 * @typedef {Exclude<keyof ScheduleBody, "job" | "enabled" | "input" | "timezone" | "cron" | "every" | "anchor" | "at"
 *   | "kind" | "expression" | "retry_policy" | "window" | "outside" | "overlap" | "catch_up" | "catch_up_cap" | "jitter" | "timeout" | "queue" | "priority" | "description">} Hidden
 */

/**
 * The words for them; the checker finds one that is missing.
 * @type {Record<Hidden, string>}
 */
export const HIDDEN = {
  retry: "its retries",
  target: "its agent",
  tag: "its tag",
  replace_tag: "whether it replaces runs of its tag",
  user_id: "its user",
  persistent: "whether its runs outlive the server",
  auto_reschedule: "whether it goes on after a failure",
  remove_delay: "how long its runs are kept",
  expires: "when its runs expire",
  alert_url: "its alert address",
  ping_url: "its ping address",
  created_by: "its creator",
};

/**
 * Those that a schedule has.
 * @param {Api.Schedule} schedule
 */
export const hiddenOf = (schedule) => /** @type {Hidden[]} */ (Object.keys(HIDDEN)).filter((word) => (schedule[word] ?? "") !== "");

/**
 * The form: texts, but for what is chosen from a list.
 * @typedef {Pick<Api.Schedule, "kind" | "outside" | "overlap" | "catch_up" | "enabled"> & Record<TextField, string>} ScheduleTexts
 * @typedef {"name" | "job" | "timezone" | "cron" | "every" | "anchor" | "at" | "from" | "to" | "catch_up_cap" | "jitter" | "queue"
 *   | "priority" | "timeout" | "description"} TextField
 */

/** @type {Omit<ScheduleTexts, "timezone">} */
const NEW = {
  name: "", job: "", kind: "cron", cron: "0 3 * * *", every: "", anchor: "", at: "", from: "", to: "",
  outside: "defer", overlap: "skip", catch_up: "latest", catch_up_cap: "100", jitter: "", queue: "", priority: "",
  timeout: "", description: "", enabled: true,
};

/**
 * The texts of a new schedule's form.
 * @param {string} job
 * @returns {ScheduleTexts}
 */
export const newForm = (job) => ({ ...NEW, job, timezone: Intl.DateTimeFormat().resolvedOptions().timeZone });

/**
 * The texts of a schedule; times are shown in the zone `choice` ("local" or "utc").
 * @param {Api.Schedule} schedule
 * @param {string} choice
 * @returns {ScheduleTexts}
 */
export function formOf(schedule, choice) {
  const { kind, expression, window } = schedule;
  const [every, anchor] = kind === "interval" ? expression.split(" from ") : ["", ""];
  const { name, job, timezone, outside, overlap, catch_up, description, enabled } = schedule;
  return {
    name, job, timezone, outside, overlap, catch_up, description, enabled, kind,
    cron: kind === "cron" ? expression : "",
    every: every ?? "",
    anchor: anchor ?? "",
    at: kind === "once" ? inputTime(expression, choice) : "",
    from: window?.[0] ?? "",
    to: window?.[1] ?? "",
    catch_up_cap: String(schedule.catch_up_cap),
    jitter: schedule.jitter ? spanWords(schedule.jitter) : "",
    queue: schedule.queue ?? "",
    priority: String(schedule.priority ?? ""),
    timeout: schedule.timeout === null ? "" : spanWords(schedule.timeout),
  };
}

/**
 * A time as <input type="datetime-local"> wants it.
 * @param {string} at
 * @param {string} choice
 */
function inputTime(at, choice) {
  const when = new Date(at);
  if (Number.isNaN(when.getTime())) return "";
  return new Date(when.getTime() - (choice === "utc" ? 0 : when.getTimezoneOffset() * 60_000)).toISOString().slice(0, 19);
}

/**
 * @param {string} text
 * @param {string} choice
 */
const ofInput = (text, choice) => new Date(choice === "utc" ? `${text}Z` : text).toISOString();

const SPAN = "Write a span such as 30s, 5m, 1h30m or 2d.";

/**
 * When it ticks, in the words of PUT and of POST /cron/preview: `{asked}` or `{wrong: {field: text}}`.
 * @param {ScheduleTexts} form
 * @param {Api.Schedule | null} schedule
 * @param {string} choice
 * @returns {{ asked?: Api.Body<"POST", "/cron/preview">, wrong?: Wrong }}
 */
export function timingOf(form, schedule, choice) {
  /** @type {Wrong} */
  const wrong = {};
  /** @type {Api.Body<"POST", "/cron/preview">} */
  const asked = { timezone: form.timezone.trim() };
  if (!asked.timezone) wrong.timezone = "Which zone?";
  if (form.kind === "cron") {
    asked.cron = form.cron;
    if (!form.cron.trim()) wrong.cron = "Five fields: minute, hour, day, month, weekday.";
  } else if (form.kind === "interval") {
    asked.every = secondsOf(form.every);
    if (!asked.every) wrong.every = SPAN;
    if (form.anchor.trim()) asked.anchor = form.anchor.trim();
  } else if (schedule?.kind === "once" && form.at === inputTime(schedule.expression, choice)) {
    asked.at = schedule.expression;
  } else if (form.at && !Number.isNaN(Date.parse(form.at))) {
    asked.at = ofInput(form.at, choice);
  } else {
    wrong.at = "Which day, and what time?";
  }
  if (form.from && form.to) Object.assign(asked, { window: [form.from, form.to], outside: form.outside });
  else if (form.from || form.to) wrong[form.from ? "to" : "from"] = "A window has a beginning and an end.";
  return Object.keys(wrong).length ? { wrong } : { asked };
}

/**
 * The body of PUT: `{body}` or `{wrong}`. `schedule` is what was read, none for a new one.
 * @param {ScheduleTexts} form
 * @param {Input | undefined} input
 * @param {Api.Schedule | null} schedule
 * @param {string} choice
 * @returns {{ body?: ScheduleBody, wrong?: Wrong }}
 */
export function bodyOf(form, input, schedule, choice) {
  const { asked, wrong = {} } = timingOf(form, schedule, choice);
  const before = schedule && formOf(schedule, choice);
  // Left out, `user_id` would be that of who saves the form.
  const hidden = schedule ? { user_id: null, ...Object.fromEntries(hiddenOf(schedule).map((word) => [word, schedule[word]])) } : {};
  const { job, enabled, outside, overlap, catch_up } = form;
  /** @type {ScheduleBody} */
  const body = { job, ...asked, input, enabled, ...hidden, outside, overlap, catch_up };
  if (form.queue.trim()) body.queue = form.queue.trim();
  if (form.description) body.description = form.description;
  for (const word of /** @type {const} */ (["jitter", "timeout"])) {
    if (before?.[word] === form[word]) body[word] = schedule?.[word];
    else if (form[word].trim()) body[word] = secondsOf(form[word]);
    if (body[word] === null && form[word].trim()) wrong[word] = SPAN;
  }
  for (const word of /** @type {const} */ (["priority", "catch_up_cap"])) {
    if (/^-?\d+$/.test(form[word].trim())) body[word] = Number(form[word]);
    else if (word !== "priority" || form[word].trim()) wrong[word] = "A whole number.";
  }
  if (!form.job) wrong.job = "Which job?";
  return Object.keys(wrong).length ? { wrong } : { body };
}
