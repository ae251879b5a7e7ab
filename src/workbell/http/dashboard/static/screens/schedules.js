// Schedules: their list, one of them, and the form that makes or changes one. The form is a word in the address's query
// and no part of its path, because a schedule may be called "new".
import { useLocation } from "../router.js";
import { html } from "../ui.js";
import { EditSchedule, NewSchedule } from "./schedule-edit.js";
import { ScheduleList } from "./schedule-list.js";
import { Schedule } from "./schedule.js";

/** @param {{ parts: string[] }} props */
export function Schedules({ parts }) {
  const { query } = useLocation();
  const [name] = parts;
  if (name === undefined) return query.get("new") ? html`<${NewSchedule} />` : html`<${ScheduleList} />`;
  return query.get("edit") ? html`<${EditSchedule} name=${name} />` : html`<${Schedule} name=${name} />`;
}
