// The same from a terminal: commands that make such a run again, and that show this one.
import { addressOf, part } from "../api.js";
import { stringify } from "../json.js";
import { commandText, curlText, isTooLong } from "../shell.js";
import { html } from "../ui.js";
import { Section } from "./page.js";
import { orderOf } from "./run-again.js";
import { Block } from "./value.js";

const OWN = "default"; // the tenant that the command line means if none is named

/** @param {{ run: Api.Run }} props */
export function CopyAs({ run }) {
  const input = stringify(run.input);
  const tenant = run.tenant === OWN ? [] : [`--tenant=${run.tenant}`];
  return html`
    <${Section} title="From a terminal" class="copy-as">
      <details>
        <summary>Make such a run again</summary>
        ${
          isTooLong(input)
            ? html`<p class="faint">The input is too long for a command line.</p>`
            : html`<${Block} name="Make it again with workbell" text=${commandText(["jobs", "run", ...tenant, "--input", input], run.job)} />`
        }
        <${Block} name="Make it again with curl" text=${curlText(addressOf("/runs"), stringify(orderOf(run)))} />
      </details>
      <details>
        <summary>Show this run</summary>
        <${Block} name="Show it with workbell" text=${commandText(["runs", "show", ...tenant], run.id)} />
        <${Block} name="Show it with curl" text=${curlText(addressOf(`/runs/${part(run.id)}`))} />
      </details>
    <//>
  `;
}
