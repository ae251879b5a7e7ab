// The doctor: what is fine, what to note, and what is at risk, with what to do about it.
import { useSession } from "../api.js";
import { Loading, Page, Trouble } from "../components/page.js";
import { Status } from "../components/status.js";
import { inWords } from "../components/value.js";
import { usePoll } from "../live.js";
import { Time } from "../times.js";
import { html } from "../ui.js";

const WORST_FIRST = ["problem", "warning", "ok"];
const SAID = { problem: "at risk", warning: "warning", ok: "healthy" };

export function Doctor() {
  const everything = useSession().tenant === "*";
  const { data, problem, reload } = usePoll(everything ? "/doctor" : null, {}, 10);
  const actions = everything && html`<button type="button" onClick=${reload}>Check again</button>`;
  return html`
    <${Page} title="Doctor" lead=${data && html`Checked at <${Time} at=${data.at} />. The same as <code>workbell doctor</code>.`} actions=${actions}>
      ${!everything && html`<p>The doctor checks the whole store, so it needs a token for all tenants.</p>`}
      <${Trouble} problem=${problem} />
      ${everything && !data && !problem && html`<${Loading} />`}
      ${data && WORST_FIRST.map((state) => html`<${Group} key=${state} state=${state} items=${data.items.filter((one) => one.state === state)} />`)}
    <//>
  `;
}

/** @param {{ state: Api.Finding["state"], items: Api.Finding[] }} props */
function Group({ state, items }) {
  if (!items.length) return null;
  return html`
    <ul class="findings">
      ${items.map((one) => html`
        <li key=${`${one.name} ${one.says}`} class="card finding">
          <${Status} of=${state} says=${SAID[state]} />
          <div><h2>${one.name}</h2><p>${inWords(one.says)}</p>${one.remedy && html`<p><strong>To do:</strong> ${inWords(one.remedy)}</p>`}</div>
        </li>
      `)}
    </ul>
  `;
}
