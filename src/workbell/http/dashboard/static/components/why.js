// Why a run is not running yet, what it is doing, or how it ended: the server's own sentence, kept current.
import { part } from "../api.js";
import { usePoll } from "../poll.js";
import { html, useEffect, useRef } from "../ui.js";
import { inWords } from "./in-words.js";
import { Trouble } from "./page.js";
import { toneOf } from "./status.js";

/** @type {{ [status: string]: string }} */
const QUESTIONS = {
  scheduled: "Why is it waiting?",
  queued: "Why is it waiting?",
  running: "What is it doing?",
  failed: "How did it end?",
  canceled: "How did it end?",
};
const EXECUTED_BEFORE = "Executed before"; // the store was rewound: of interest for a run that succeeded, too
const WHILE_LIVE = 2; // seconds between two polls
const AFTERWARDS = 30; // only "how long ago" changes

/** @param {{ run: Api.Run }} props */
export function Why({ run }) {
  const question = QUESTIONS[run.status] ?? "Was it executed before?";
  const ended = run.finished_at !== null;
  const { data, problem, reload } = usePoll(`/runs/${part(run.id)}/why`, {}, ended ? AFTERWARDS : WHILE_LIVE);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) reload();
    first.current = false;
  }, [run.status, run.attempt, run.reason]);
  if (!QUESTIONS[run.status] && !data?.why.includes(EXECUTED_BEFORE)) return null;
  return html`
    <section class="why why-${toneOf(run.status)}" aria-label=${question}>
      <h2>${question}</h2>
      ${data ? html`<p>${inWords(data.why)}</p>` : html`<p class="faint">…</p>`}
      ${problem && problem.status !== 404 && html`<${Trouble} problem=${problem} />`}
    </section>
  `;
}
