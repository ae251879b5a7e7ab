// The last runs of a job as a row of bars: colour and shape for how each ended, height for how long it took. One that
// failed is always as high as can be: most fail at once, and would be the least to be seen.
import { Link, to } from "../router.js";
import { spanText, timeText } from "../times.js";
import { zone } from "../preferences.js";
import { html } from "../ui.js";
import { toneOf } from "./status.js";

/**
 * `runs` newest first, as GET /recent tells them; shown oldest first, as people read. Each bar leads to its run.
 * @param {{ runs: Api.Recent["runs"], running: number | undefined }} props
 */
export function Strip({ runs, running }) {
  const bars = useBars(runs);
  if (!runs.length) return html`<${None} running=${running} />`;
  return html`<ol class="strip">
    ${bars.map(
      (bar) => html`<li key=${bar.id}><${Link} to=${to(["runs", bar.id])} class=${bar.classes} title=${bar.text} aria-label=${bar.text}>${bar.shape}<//></li>`,
    )}
  </ol>`;
}

/**
 * The same within a row of a table: too narrow to be hit one by one, and too many to tab through, so one link to all.
 * @param {{ job: string, runs: Api.Recent["runs"], running: number | undefined }} props
 */
export function StripLink({ job, runs, running }) {
  const bars = useBars(runs);
  if (!runs.length) return html`<${None} running=${running} />`;
  const counts = new Map();
  for (const { status } of runs) counts.set(status, (counts.get(status) ?? 0) + 1);
  const text = `The last runs of ${job}: ${[...counts].map(([status, count]) => `${count} ${status}`).join(", ")}`;
  return html`<${Link} class="strip" to=${to(["runs"], { job })} aria-label=${text}>
    ${bars.map((bar) => html`<span key=${bar.id} class=${bar.classes} title=${bar.text}>${bar.shape}</span>`)}
  <//>`;
}

/**
 * Nothing has finished: that may be because it still runs.
 * @param {{ running: number | undefined }} props
 */
const None = ({ running }) => html`<span class="faint">${running ? `${running.toLocaleString("en")} running, ` : ""}none finished yet</span>`;

/** @param {Api.Recent["runs"]} runs */
function useBars(runs) {
  const choice = zone.use();
  const longest = Math.max(...runs.filter((run) => run.status === "succeeded").map((run) => run.duration ?? 0), 0.001);
  return [...runs].reverse().map((run) => {
    const share = run.status === "failed" ? 1 : Math.min(1, Math.max(0.2, Math.sqrt((run.duration ?? 0) / longest)));
    return {
      id: run.id,
      classes: `strip-bar strip-${toneOf(run.status)}`,
      text: `${run.status}, ${spanText(run.duration)}, ${timeText(run.finished_at, choice)}`,
      shape: html`<span style=${{ height: `${Math.round(share * 100)}%` }}></span>`,
    };
  });
}
