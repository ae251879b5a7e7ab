// What can be done with one run: end it, or have it run once more.
import { api, part } from "../api.js";
import { go, to } from "../router.js";
import { html } from "../ui.js";
import { Action } from "./action.js";
import { RunAgain } from "./run-again.js";

/** @param {{ run: Api.Run }} props */
export function RunActions({ run }) {
  return html`
    ${run.finished_at !== null ? html`<${Retry} run=${run} />` : !run.cancel_requested && html`<${Cancel} run=${run} />`}
    <${RunAgain} run=${run} />
  `;
}

/** @param {{ run: Api.Run }} props */
function Cancel({ run }) {
  const running = run.status === "running";
  const text = running
    ? "A worker has it: its handler is asked to stop, and the run ends when the handler does."
    : "It has not started, and will not.";
  const cancel = async () => {
    const after = await api.post(`/runs/${part(run.id)}/cancel`);
    if (after.status === "canceled") return "The run is canceled.";
    return after.status === "running" ? "Its worker is asked to stop it." : `The run has ended already: ${after.status}.`;
  };
  return html`<${Action} label="Cancel" classes="danger" ask=${{ title: "Cancel this run?", text, action: "Cancel the run", keep: "Keep running" }} run=${cancel} />`;
}

/** @param {{ run: Api.Run }} props */
function Retry({ run }) {
  const retry = async () => {
    const made = await api.post(`/runs/${part(run.id)}/retry`);
    go(to(["runs", made.id]));
    return "This is the new run.";
  };
  const before = run.retried_by && {
    title: "Retry this run once more?",
    text: `It was retried before: that run is ${run.retried_by.status}. This makes another new run with the same input.`,
    action: "Retry once more",
    calm: true,
  };
  return html`<${Action} label="Retry" title="A new run with the same input" ask=${before} run=${retry} />`;
}
