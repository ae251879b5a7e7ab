// What can be done with many runs: with those that are chosen, or with all that match the filter.
import { api, part } from "../api.js";
import { go, to } from "../router.js";
import { useMay } from "../session.js";
import { html, useEffect, useState } from "../ui.js";
import { Action } from "./action.js";
import { countText } from "./value.js";

const LIVE = new Set(["scheduled", "queued", "running"]);
const AT_ONCE = 6; // requests in the air

export function BulkBar({ chosen, clear, words, rows }) {
  if (!useMay("operate")) return null;
  const picked = rows.filter((run) => chosen.has(run.id));
  const live = picked.filter((run) => LIVE.has(run.status));
  const ended = picked.filter((run) => !LIVE.has(run.status));
  return html`
    <div class="bulk" role="group" aria-label="Actions on many runs">
      ${
        picked.length > 0
          ? html`
              <strong>${picked.length} chosen</strong>
              <${Action} label=${`Cancel ${live.length}`} disabled=${!live.length} look="danger"
                ask=${{ title: `Cancel ${live.length} runs?`, text: "What has not started will not; what runs is asked to stop.", action: "Cancel them" }}
                run=${() => each(live, "cancel", clear)} />
              <${Action} label=${`Retry ${ended.length}`} disabled=${!ended.length}
                ask=${{ title: `Run ${ended.length} again?`, text: "Each becomes a new run with the same input.", action: "Run them again", calm: true }}
                run=${() => each(ended, "retry", clear)} />
              <button type="button" class="small quiet" onClick=${clear}>Choose none</button>
            `
          : html`<${AllMatching} words=${words} />`
      }
    </div>
  `;
}

async function each(runs, verb, clear) {
  let done = 0;
  let refused = null;
  const left = [...runs];
  const work = async () => {
    for (let run = left.shift(); run; run = left.shift()) {
      try {
        await api.post(`/runs/${part(run.id)}/${verb}`);
        done++;
      } catch (problem) {
        refused = problem;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  clear();
  if (refused) throw new Error(`${done} of ${runs.length} done. ${refused.message}`);
  return `${done} ${done === 1 ? "run" : "runs"}: ${verb === "cancel" ? "canceled" : "made again"}.`;
}

/** All that match, also those on other pages: a run of its own does it, and can be watched. */
function AllMatching({ words }) {
  const [count, setCount] = useState(null);
  const text = JSON.stringify(words.query);
  useEffect(() => {
    let over = false;
    setCount(null);
    if (words.any) api.get("/runs/count", JSON.parse(text)).then((found) => over || setCount(found), () => {});
    return () => (over = true);
  }, [text]);
  if (!words.any || !count) return null;
  return html`
    <span>${countText(count)} match</span>
    <${Bulk} action="cancel" label="Cancel all matching" words=${words} count=${count} />
    <${Bulk} action="retry" label="Retry all matching" words=${words} count=${count} />
  `;
}

const CONSEQUENCE = {
  cancel: "Of these, those that are live will be canceled. A run of its own does it, which you can watch and cancel.",
  retry: "Of these, those that have ended are run again, each as a new run. A run of its own does it, which you can watch and cancel.",
};

function Bulk({ action, label, words, count }) {
  const ask = { title: `${label}?`, text: `${countText(count)} runs match. ${CONSEQUENCE[action]}`, action: label, calm: action === "retry" };
  const run = async () => {
    const made = await api.post("/bulk", { action, filter: words.topic });
    go(to(["runs", made.id]));
  };
  return html`<${Action} label=${label} ask=${ask} run=${run} look=${action === "cancel" ? "small danger" : "small"} />`;
}
