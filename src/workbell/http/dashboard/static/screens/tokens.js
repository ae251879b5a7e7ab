// Tokens: who may call the API, with what scopes and until when; sessions of browsers among them.
import { api, part, useMay, useSession } from "../api.js";
import { Action, Dialog } from "../components/dialog.js";
import { Check, Choice, Field, SubmitFoot, useSubmit } from "../components/form.js";
import { Empty, Loading, Page, Pager, Trouble } from "../components/page.js";
import { Status } from "../components/status.js";
import { Table } from "../components/table.js";
import { Secret } from "../components/value.js";
import { usePoll } from "../live.js";
import { Link, to, useLocation } from "../router.js";
import { Time } from "../times.js";
import { html, useState } from "../ui.js";

const PASSING = ["session", "ticket", "login"];

export function Tokens() {
  const { query } = useLocation();
  const ended = query.get("all") === "true";
  const { data, problem, reload } = usePoll("/tokens", { all: ended ? "true" : null, after: query.get("after") }, 5);
  const [making, make] = useState(false);
  const may = useMay("admin");
  const actions = html`
    <${Link} class="button" to=${to(["tokens"], { all: ended ? "" : "true" })}>${ended ? "Hide expired" : "Show expired"}<//>
    ${may && html`<button type="button" class="primary" onClick=${() => make(true)}>New token</button>`}
  `;
  return html`
    <${Page} title="Tokens" lead="Who may call the API. A token is shown once, when created." actions=${actions}>
      <${Trouble} problem=${problem} />
      ${!data && !problem && html`<${Loading} />`}
      ${data?.items.length === 0 && html`<${Empty} code="workbell tokens create --scope read">There is no token. The command line makes one, too:<//>`}
      ${data && data.items.length > 0 && html`<${TokenTable} tokens=${data.items} reload=${reload} />`}
      <${Pager} next=${data?.next} name="after" />
      ${making && html`<${NewToken} close=${() => make(false)} reload=${reload} />`}
    <//>
  `;
}

/** @param {Api.Token} token */
const stateOf = (token) => (token.revoked_at ? "revoked" : token.valid ? "valid" : "expired");

const LONGEST = 36; // characters: a UUID in one line

/** @param {{ id: Api.Token["user_id"] }} props */
function User({ id }) {
  const text = id === null ? "–" : id === 0 ? "0 (system)" : String(id);
  return text.length > LONGEST ? html`<span title=${text}>${text.slice(0, LONGEST)}…</span>` : text;
}

/** @param {{ tokens: Api.Token[], reload: Reload }} props */
function TokenTable({ tokens, reload }) {
  return html`<${Table} caption="Tokens" rows=${tokens} columns=${/** @type {Column<Api.Token>[]} */ ([
    {
      name: "Name",
      classes: "wide",
      cell: (token) => html`<div>
        <strong>${token.name || "no name"}</strong> ${token.kind !== "api" && html`<span class="faint">${token.kind}</span>`}<br />
        <code class="inline">${token.id}</code>
      </div>`,
    },
    { name: "State", cell: (token) => html`<${Status} of=${stateOf(token)} />` },
    { name: "Scopes", cell: (token) => token.scopes.join(", ") || "none" },
    { name: "Tenant", cell: (token) => (token.tenant === "*" ? "all" : token.tenant) },
    { name: "User id", classes: "when", cell: (token) => html`<${User} id=${token.user_id} />` },
    { name: "Last used", classes: "when", cell: (token) => html`<${Time} at=${token.last_used_at} />` },
    { name: "Ends", classes: "when", cell: (token) => (token.expires_at ? html`<${Time} at=${token.expires_at} />` : "never") },
    { name: "Actions", hidden: true, classes: "number", cell: (token) => stateOf(token) === "valid" && html`<${Revoke} token=${token} reload=${reload} />` },
  ])} />`;
}

/** @param {{ token: Api.Token, reload: Reload }} props */
function Revoke({ token, reload }) {
  const run = async () => {
    await api.remove(`/tokens/${part(token.id)}`);
    await reload();
    return "The token is revoked.";
  };
  const ask = {
    title: `Revoke ${token.name || "this token"}?`,
    text: PASSING.includes(token.kind) ? "Its user is signed out." : "Calls with it are refused from now on, and browsers that signed in with it are signed out. This cannot be undone.",
    action: "Revoke it",
  };
  return html`<${Action} label="Revoke" classes="small danger" needs="admin" run=${run} ask=${ask} />`;
}

// Make a token; its text is shown this once.

/** @type {[Api.Scope, string][]} */
const SCOPES = [
  ["read", "read: see everything, change nothing"],
  ["enqueue", "enqueue: make runs and events"],
  ["operate", "operate: also cancel, retry, pause, edit"],
  ["admin", "admin: also tokens, tenants, audit"],
];
const DAY = 86_400;
const ENDS = [["", "never"], [String(DAY), "in a day"], [String(30 * DAY), "in 30 days"], [String(365 * DAY), "in a year"]];

/** @param {{ close: () => void, reload: Reload }} props */
function NewToken({ close, reload }) {
  const everything = useSession().tenant === "*";
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState(/** @type {Api.Scope[]} */ (["read"]));
  const [user, setUser] = useState("");
  const [expires, setExpires] = useState(String(30 * DAY));
  const [every, setEvery] = useState(false);
  const [text, setText] = useState(/** @type {string | null} */ (null));
  /** @param {Api.Scope} scope */
  const toggle = (scope) => (/** @type {boolean} */ on) => setScopes(on ? [...scopes, scope] : scopes.filter((one) => one !== scope));
  const { send, busy, problem } = useSubmit(async () => {
    const body = { name, scopes, user_id: user.trim() || null, expires: expires ? Number(expires) : null, every_tenant: every };
    setText((await api.post("/tokens", body)).token);
    return reload();
  });
  if (text) {
    return html`<${Dialog} title="The new token" onClose=${close}>
      <${Secret} text=${text} name="Token" />
      <div class="dialog-foot"><button type="button" class="primary" onClick=${close}>I have saved it</button></div>
    <//>`;
  }
  return html`
    <${Dialog} title="New token" onClose=${close}>
      <form class="form" onSubmit=${send} noValidate>
        <${Field} label="Name" value=${name} onChange=${setName} hint="Who will use it; the audit log shows it." maxlength="200" />
        <fieldset class="form"><legend>It may</legend>
          ${SCOPES.map(([scope, label]) => html`<${Check} key=${scope} label=${label} checked=${scopes.includes(scope)} onChange=${toggle(scope)} />`)}
        </fieldset>
        <${Choice} label="Expires" value=${expires} onChange=${setExpires} options=${ENDS} hint="Ends then, not with your session." />
        <${Field} label="User id" value=${user} onChange=${setUser}
          hint="Which person it is: whose notifications it reads, and whose runs it makes. A number, or a text such as a UUID; may be empty." />
        ${everything && html`<${Check} label="For every tenant" checked=${every} onChange=${setEvery} />`}
        <${SubmitFoot} label="Create token" busy=${busy} problem=${problem} />
      </form>
    <//>
  `;
}
