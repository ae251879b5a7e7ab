// Tokens: who may call the API, with what scopes and until when; sessions of browsers among them.
import { api, part } from "../api.js";
import { Action } from "../components/action.js";
import { NewToken } from "../components/new-token.js";
import { Empty, Loading, Page, Trouble } from "../components/page.js";
import { Pager } from "../components/pager.js";
import { Status } from "../components/status.js";
import { Table } from "../components/table.js";
import { usePoll } from "../poll.js";
import { Link, to, useLocation } from "../router.js";
import { useMay } from "../session.js";
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
    { name: "Name", classes: "wide", cell: (token) => html`<div><strong>${token.name || "no name"}</strong> ${token.kind !== "api" && html`<span class="faint">${token.kind}</span>`}<br /><code class="inline">${token.id}</code></div>` },
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
