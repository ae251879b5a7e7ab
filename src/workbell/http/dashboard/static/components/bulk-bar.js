// What can be done with many runs: with those that are chosen, or with all that match the filter.
import { api, part, Problem } from "../api.js";
import { go, to } from "../router.js";
import { useMay } from "../session.js";
import { html } from "../ui.js";
import { Action } from "./action.js";
import { useRunCount } from "./run-count.js";
import { countText } from "./value.js";

/** @type {Api.RunStatus[]} */
const LIVE = ["scheduled", "queued", "running"];
/** @type {Api.RunStatus[]} */
const ENDED = ["succeeded", "failed", "canceled"];
const AT_ONCE = 6; // requests in the air

/** @param {{ chosen: Set<string>, clear: () => void, words: RunFilterWords, rows: Api.Run[] }} props */
export function BulkBar({ chosen, clear, words, rows }) {
  const may = useMay("operate");
  const picked = rows.filter((run) => chosen.has(run.id));
  const live = picked.filter((run) => LIVE.includes(run.status));
  const ended = picked.filter((run) => ENDED.includes(run.status) && !run.retried_by);
  const before = picked.filter((run) => run.retried_by).length;
  return html`
    <div class="bulk" role="group" aria-label="Actions on many runs">
      ${
        picked.length > 0
          ? html`
              <strong>${picked.length} chosen</strong>
              <${Action} label=${`Cancel ${live.length}`} disabled=${!live.length} classes="danger"
                ask=${{ title: `Cancel ${runsText(live.length)}?`, text: "What has not started will not; what runs is asked to stop.", action: "Cancel them", keep: "Keep them" }}
                run=${() => each(live, "cancel", clear)} />
              <${Action} label=${`Retry ${ended.length}`} disabled=${!ended.length}
                ask=${{ title: `Retry ${runsText(ended.length)}?`, text: `Each is started again as a new run with the same input.${leftOut(before)}`, action: "Retry them", calm: true }}
                run=${() => each(ended, "retry", clear)} />
              <button type="button" class="small quiet" onClick=${clear}>Choose none</button>
            `
          : html`<${AllMatching} words=${words} may=${may} />`
      }
    </div>
  `;
}

/** @param {number} count */
const leftOut = (count) => (count ? ` ${runsText(count)} of those chosen ${count === 1 ? "was" : "were"} retried before, and ${count === 1 ? "is" : "are"} left out.` : "");

/** @param {number} count */
const runsText = (count) => `${count.toLocaleString("en")} ${count === 1 ? "run" : "runs"}`;

/**
 * @param {Api.Run[]} runs
 * @param {"cancel" | "retry"} verb
 * @param {() => void} clear
 */
async function each(runs, verb, clear) {
  let done = 0;
  /** @type {Failure[]} */
  const refused = [];
  const left = [...runs];
  const work = async () => {
    for (let run = left.shift(); run; run = left.shift()) {
      try {
        await api.post(`/runs/${part(run.id)}/${verb}`);
        done++;
      } catch (problem) {
        refused.push(problem);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  clear();
  const last = refused.at(-1);
  if (last) throw new Error(`${done} of ${runs.length} done. ${last.message}`);
  return `${runsText(done)}: ${verb === "cancel" ? "canceled" : "started again"}.`;
}

/**
 * All that match, also those on other pages: a run of its own does it, and can be watched.
 * @param {{ words: RunFilterWords, may: boolean }} props
 */
function AllMatching({ words, may }) {
  const count = useRunCount(words.query);
  if (!count) return null;
  if (!words.any) return html`<span class="faint">${countText(count)} ${count.count === 1 ? "run" : "runs"}</span>`;
  return html`
    <span>${countText(count)} match</span>
    ${may && html`<${Bulk} action="cancel" label="Cancel all matching" words=${words} /><${Bulk} action="retry" label="Retry all matching" words=${words} />`}
  `;
}

// What an action can be done to, what it means where the filter names no status, and what comes of it.
/** @type {{ [action: string]: { possible: Api.RunStatus[], meant: Api.RunStatus[], outcome: string, more?: { retried: boolean } } }} */
const ACTIONS = {
  cancel: { possible: LIVE, meant: LIVE, outcome: "will be canceled" },
  retry: { possible: ENDED, meant: ["failed"], outcome: "will be started again as new runs", more: { retried: false } },
};

/** @param {string[]} words */
const oneOf = (words) => words.join(", ").replace(/, ([^,]*)$/, " or $1");

/** @param {Api.Words} query */
const count = (query) => api.get("/runs/count", query);

/** @param {{ action: "cancel" | "retry", label: string, words: RunFilterWords }} props */
function Bulk({ action, label, words }) {
  const { possible, meant, outcome, more } = ACTIONS[action];
  const wanted = words.topic.status;
  const status = wanted ? wanted.filter((name) => possible.includes(name)) : meant;
  if (!status.length || (more?.retried === false && words.query.retried === "true")) return null;
  const ask = async () => {
    const [found, all] = await Promise.all([count({ ...words.query, status, ...more }), count({ ...words.query, status })]);
    const before = all.count - found.count;
    if (!found.count) throw new Problem(before > 0 ? `All ${countText(all)} were retried before.` : `No run that matches is ${oneOf(status)}.`);
    const retried = before > 0 && !all.capped ? ` ${runsText(before)} that ${before === 1 ? "was" : "were"} retried before ${before === 1 ? "is" : "are"} left out.` : "";
    const text = `${countText(found)} ${oneOf(status)} ${found.count === 1 ? "run" : "runs"} ${outcome}.${retried} A run of its own does it, which you can watch and cancel.`;
    return { title: `${label}?`, text, action: label, calm: action === "retry", keep: action === "cancel" ? "Keep them" : undefined };
  };
  const run = async () => {
    const made = await api.post("/bulk", { action, filter: { ...words.topic, status, ...more } });
    go(to(["runs", made.id]));
  };
  return html`<${Action} label=${label} ask=${ask} run=${run} classes=${action === "cancel" ? "small danger" : "small"} />`;
}
