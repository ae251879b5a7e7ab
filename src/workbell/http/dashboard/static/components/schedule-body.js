// Between a schedule and the form that changes it: the texts of the form, and the body of PUT /schedules/{name}.
//
// PUT says all of a schedule: what it does not name gets its default. So what the form does not show is sent as it was
// read, and so is what nobody has touched, lest it be rounded on its way through a text.
import { secondsOf, spanWords } from "./schedule-words.js";

const HIDDEN = ["retry", "target", "created_by", "alert_url", "ping_url"];
const NEW = {
  name: "", job: "", kind: "cron", cron: "0 3 * * *", every: "", anchor: "", at: "", from: "", to: "",
  outside: "defer", overlap: "skip", catch_up: "latest", catch_up_cap: "100", jitter: "", queue: "", priority: "",
  timeout: "", description: "", enabled: true,
};

/** The texts of a new schedule's form. */
export const newForm = (job) => ({ ...NEW, job, timezone: Intl.DateTimeFormat().resolvedOptions().timeZone });

/** The texts of a schedule; times are shown in the zone `choice` ("local" or "utc"). */
export function formOf(schedule, choice) {
  const { kind, expression, window } = schedule;
  const [every, anchor] = kind === "interval" ? expression.split(" from ") : ["", ""];
  const plain = ["name", "job", "timezone", "outside", "overlap", "catch_up", "description", "enabled"];
  return {
    ...NEW,
    ...Object.fromEntries(plain.map((word) => [word, schedule[word]])),
    kind,
    cron: kind === "cron" ? expression : "",
    every,
    anchor,
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

/** A time as <input type="datetime-local"> wants it. */
function inputTime(at, choice) {
  const when = new Date(at);
  if (Number.isNaN(when.getTime())) return "";
  return new Date(when - (choice === "utc" ? 0 : when.getTimezoneOffset() * 60_000)).toISOString().slice(0, 19);
}

const ofInput = (text, choice) => new Date(choice === "utc" ? `${text}Z` : text).toISOString();

const SPAN = "Write a span such as 30s, 5m, 1h30m or 2d.";

/** When it ticks, in the words of PUT and of POST /cron/preview: `{asked}` or `{wrong: {field: text}}`. */
export function timingOf(form, schedule, choice) {
  const wrong = {};
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

/** The body of PUT: `{body}` or `{wrong}`. `schedule` is what was read, none for a new one. */
export function bodyOf(form, payload, schedule, choice) {
  const { asked, wrong = {} } = timingOf(form, schedule, choice);
  const before = schedule && formOf(schedule, choice);
  const body = { job: form.job, ...asked, payload, enabled: form.enabled };
  for (const word of HIDDEN) if (schedule?.[word]) body[word] = schedule[word];
  for (const word of ["outside", "overlap", "catch_up"]) body[word] = form[word];
  if (form.queue.trim()) body.queue = form.queue.trim();
  if (form.description) body.description = form.description;
  for (const word of ["jitter", "timeout"]) {
    if (before?.[word] === form[word]) body[word] = schedule[word];
    else if (form[word].trim()) body[word] = secondsOf(form[word]);
    if (body[word] === null && form[word].trim()) wrong[word] = SPAN;
  }
  for (const word of ["priority", "catch_up_cap"]) {
    if (/^-?\d+$/.test(form[word].trim())) body[word] = Number(form[word]);
    else if (word !== "priority" || form[word].trim()) wrong[word] = "A whole number.";
  }
  if (!form.job) wrong.job = "Which job?";
  return Object.keys(wrong).length ? { wrong } : { body };
}
