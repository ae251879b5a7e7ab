// What a timing comes to, while it is typed: in words, its next ticks, or what is wrong with it in the server's words.
import { api } from "../api.js";
import { html, useEffect, useState } from "../ui.js";
import { NextTicks } from "./next-ticks.js";

const PAUSE = 300; // after the last key

/**
 * `asked` is the body of POST /cron/preview; none while the form says itself what is missing.
 * @param {{ asked: Api.Body<"POST", "/cron/preview"> | undefined }} props
 */
export function SchedulePreview({ asked }) {
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
