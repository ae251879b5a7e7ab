// The bar on top: the menu on narrow screens, whether the page is live, the zone of times, the theme, the tenant. On a
// narrow screen the zone and the theme are in the menu of the account, so that the bar is one row.
import { api, useSession } from "../api.js";
import { paused, state } from "../live.js";
import { shortcuts, theme, useNarrow, zone } from "../preferences.js";
import { go, to, useLocation } from "../router.js";
import { zoneName } from "../times.js";
import { html, useEffect, useState } from "../ui.js";
import { attempt } from "./dialog.js";
import { showShortcuts } from "./shortcuts.js";

/** @param {{ open: boolean, toggle: () => void }} props */
export function TopBar({ open, toggle }) {
  const narrow = useNarrow();
  const settings = html`<${Zone} /><${Theme} />`;
  return html`
    <header class="top">
      <button type="button" class="menu" aria-expanded=${open} aria-controls="nav" onClick=${toggle}>☰ Menu</button>
      <${Liveness} />
      <span class="spread"></span>
      <${Tenant} />
      ${!narrow && settings}
      <${Who}>${narrow && settings}<//>
    </header>
  `;
}

const SAID = { live: "Live", connecting: "Connecting …", paused: "Paused", hidden: "Resting" };

function Liveness() {
  const now = state.use();
  const stopped = paused.use();
  // The button stands before the words, whose width changes: one that moves while it is pressed is not clicked.
  return html`
    <button type="button" class="small" aria-pressed=${stopped} onClick=${() => paused.set(!stopped)}>
      ${stopped ? "Resume" : "Pause"}
    </button>
    <span class="liveness liveness-${now}"><i class="dot" aria-hidden="true"></i><span role="status">${SAID[now]}</span></span>
  `;
}

function Zone() {
  const choice = zone.use();
  return html`<label class="compact"><span class="visually-hidden">Zone of times</span>
    <select value=${choice} onChange=${(event) => zone.set(event.target.value)}>
      <option value="local" selected=${choice === "local"}>${zoneName("local")} (local)</option>
      <option value="utc" selected=${choice === "utc"}>UTC</option>
    </select>
  </label>`;
}

function Theme() {
  const choice = theme.use();
  return html`<label class="compact"><span class="visually-hidden">Theme</span>
    <select value=${choice} onChange=${(event) => theme.set(event.target.value)}>
      ${["system", "light", "dark"].map((one) => html`<option key=${one} value=${one} selected=${one === choice}>${one === "system" ? "system theme" : one}</option>`)}
    </select>
  </label>`;
}

/** Only for tokens of all tenants, and if there is more than one. */
function Tenant() {
  const session = useSession();
  const { parts, query } = useLocation();
  const [names, setNames] = useState(/** @type {string[]} */ ([]));
  const everything = session.tenant === "*" && session.may.includes("admin");
  useEffect(() => {
    if (everything) api.get("/tenants").then((found) => setNames(found.items.map((one) => one.name)), () => {});
  }, [everything]);
  const current = query.get("tenant") ?? "";
  if (!everything || (names.length < 2 && !current)) return null;
  const known = names.includes(current) || !current ? names : [current, ...names];
  return html`<label class="compact"><span class="visually-hidden">Tenant</span>
    <select value=${current} onChange=${(event) => go(to(parts.slice(0, 1), { tenant: event.target.value }))}>
      <option value="" selected=${!current}>default tenant</option>
      ${known.map((one) => html`<option key=${one} value=${one} selected=${one === current}>${one}</option>`)}
    </select>
  </label>`;
}

/** @param {{ children?: Child }} props */
function Who({ children }) {
  const session = useSession();
  const leave = () =>
    attempt(async () => {
      await api.remove("/session");
      location.reload();
    });
  return html`
    <details class="who">
      <summary>Account</summary>
      <div class="who-menu">
        <p><strong>${session.actor}</strong></p>
        <p class="faint">${session.tenant === "*" ? "all tenants" : session.tenant} · ${session.may.join(", ") || "no scopes"}</p>
        ${children}
        <button type="button" onClick=${showShortcuts}>Keyboard shortcuts (${shortcuts.use()})</button>
        ${session.token && html`<button type="button" onClick=${leave}>Sign out</button>`}
      </div>
    </details>
  `;
}
