// The last runs of a job as a row of bars: colour and shape for how each ended, height for how long it took.
import { Link, to } from "../router.js";
import { spanText, timeText } from "../times.js";
import { zone } from "../preferences.js";
import { html } from "../ui.js";
import { lookOf } from "./status.js";

/** `runs` newest first, as GET /recent tells them; shown oldest first, as people read. */
export function Strip({ runs }) {
  const choice = zone.use();
  if (!runs.length) return html`<span class="faint">no runs yet</span>`;
  const longest = Math.max(...runs.map((run) => run.duration ?? 0), 0.001);
  return html`<ol class="strip">
    ${[...runs].reverse().map((run) => {
      const share = Math.max(0.2, Math.sqrt((run.duration ?? 0) / longest));
      const text = `${run.status}, ${spanText(run.duration)}, ${timeText(run.finished_at, choice)}`;
      return html`<li key=${run.id}>
        <${Link} to=${to(["runs", run.id])} class="strip-bar strip-${lookOf(run.status)}" title=${text} aria-label=${text}>
          <span style=${{ height: `${Math.round(share * 100)}%` }}></span>
        <//>
      </li>`;
    })}
  </ol>`;
}
