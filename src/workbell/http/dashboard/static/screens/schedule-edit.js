// A new schedule, and the change of one: saved only if it is still as it was read.
import { api, part, Problem } from "../api.js";
import { Loading, Page, Trouble } from "../components/page.js";
import { HIDDEN, hiddenOf } from "../components/schedule-body.js";
import { ScheduleForm } from "../components/schedule-form.js";
import { declaredText, isDeclared } from "../components/schedule-words.js";
import { toast } from "../components/toasts.js";
import { go, to } from "../router.js";
import { useMay } from "../session.js";
import { html, useEffect, useState } from "../ui.js";

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
