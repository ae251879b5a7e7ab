// Where the page begins: who is this, then the frame around every screen, and the screen that an address means.
import { loadSession, Problem, signedOut, useSession } from "./api.js";
import { Confirmations } from "./components/dialog.js";
import { Boundary, Loading, Page, Trouble } from "./components/page.js";
import { Reloads } from "./components/reloads.js";
import { Shortcuts } from "./components/shortcuts.js";
import { Toasts } from "./components/toasts.js";
import { TopBar } from "./components/top-bar.js";
import { Link, to, useLocation } from "./router.js";
import { SCREENS } from "./screens.js";
import { focusOn, html, render, useEffect, useRef, useState } from "./ui.js";

const root = /** @type {HTMLElement} */ (document.getElementById("app"));
const PAUSE = 2000; // before the server is asked again, if it did not answer

async function begin() {
  try {
    await loadSession();
    root.textContent = "";
    render(html`<${App} />`, root);
  } catch (problem) {
    root.textContent = signedOut.get()
      ? "You are signed out. `workbell tokens url` prints an address that signs you in."
      : `The dashboard could not begin: ${problem.message}`;
    if (!problem.status) setTimeout(begin, PAUSE);
  }
}

// The frame around every screen: navigation, the bar on top, and which screen an address means.

function App() {
  const { parts } = useLocation();
  const [open, setOpen] = useState(false);
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const name = parts[0] ?? "";
  const address = parts.map(encodeURIComponent).join("/");
  const screen = SCREENS.find((one) => one.path === name);
  const first = useRef(true);

  useEffect(() => {
    setOpen(false);
    // After a step to another screen the focus goes there too, as it does when a page is loaded.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [address]);

  useEffect(() => {
    if (open && !focusOn("#nav a[aria-current]")) focusOn("#nav a");
  }, [open]);
  /** @param {KeyboardEvent} event */
  const leaveMenu = (event) => {
    if (!open || event.key !== "Escape") return;
    setOpen(false);
    focusOn(".menu");
  };

  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
    <div class="frame ${open ? "nav-open" : ""}" onKeyDown=${leaveMenu}>
      <${Navigation} current=${name} />
      <div class="column">
        <${TopBar} open=${open} toggle=${() => setOpen(!open)} />
        <${SignedOut} />
        <${Reloads} />
        <main id="main" ref=${main} tabindex="-1">
          <${Boundary} key=${address}><${Screen} screen=${screen} parts=${parts.slice(1)} /><//>
        </main>
      </div>
    </div>
    <${Toasts} />
    <${Confirmations} />
    <${Shortcuts} />
  `;
}

/**
 * Whether the user may open a screen; everybody may open their own notifications.
 * @type {(screen: ScreenEntry, session: Api.Session) => boolean}
 */
const isOpen = (screen, session) => (screen.needs ? session.may.includes(screen.needs) : session.user_id !== null || session.may.length > 0);

/** @param {{ screen: ScreenEntry | undefined, parts: string[] }} props */
function Screen({ screen, parts }) {
  const session = useSession();
  if (!screen) return html`<${Page} title="There is no such page"><p>Nothing is at this address. <${Link} to=${to([])}>Overview<//></p><//>`;
  if (isOpen(screen, session)) return html`<${Opened} screen=${screen} parts=${parts} />`;
  return html`<${Page} title=${screen.name}>
    <p>This needs a token with the scope <code>${screen.needs}</code>; yours has ${session.may.join(", ") || "none"}.</p>
    ${session.user_id !== null && html`<p><${Link} to=${to(["notifications"])}>Your notifications<//></p>`}
  <//>`;
}

/** @param {{ screen: ScreenEntry, parts: string[] }} props */
function Opened({ screen, parts }) {
  const { show, problem } = useScreen(screen);
  if (show) return html`<${show} parts=${parts} />`;
  return html`<${Page} title=${screen.name}>${problem ? html`<${Trouble} problem=${problem} />` : html`<${Loading} />`}<//>`;
}

/** @param {{ current: string }} props */
function Navigation({ current }) {
  const session = useSession();
  const groups = [...new Set(SCREENS.map((one) => one.group))];
  return html`
    <nav class="nav" id="nav" aria-label="Screens">
      <${Link} class="brand" to=${to([])} aria-label="Workbell, overview"><${Bell} /> Workbell<//>
      ${groups.map(
        (group) => html`
          <ul key=${group}>
            ${SCREENS.filter((one) => one.group === group && isOpen(one, session)).map(
              (one) => html`<li key=${one.path}>
                <${Link} to=${to(one.path ? [one.path] : [])} aria-current=${one.path === current ? "page" : undefined}>${one.name}<//>
              </li>`,
            )}
          </ul>
        `,
      )}
    </nav>
  `;
}

const Bell = () => html`<svg class="bell" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
  <rect width="32" height="32" rx="8" /><path d="M16 6a7 7 0 0 0-7 7v5l-2 4h18l-2-4v-5a7 7 0 0 0-7-7z" /><circle cx="16" cy="25" r="2.5" />
</svg>`;

function SignedOut() {
  if (!signedOut.use()) return null;
  return html`<p class="trouble" role="alert">
    You are signed out. <code>workbell tokens url</code> prints an address that signs you in again; or ${" "}
    <a href=${location.href}>sign in with a token</a>.
  </p>`;
}

// A screen's component, from a file that is loaded when it is first needed: who opens one screen does not wait for all.

/** @type {Map<ScreenEntry, unknown>} */
const loaded = new Map();

/**
 * `{show, problem}`: the component once it is there.
 * @param {ScreenEntry} screen
 */
function useScreen(screen) {
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [, redraw] = useState(0);
  useEffect(() => {
    if (loaded.has(screen)) return;
    screen.load().then(
      (file) => {
        loaded.set(screen, file[screen.name]);
        redraw((count) => count + 1);
      },
      () => setProblem(new Problem("This screen could not be loaded. Is the server running? Load the page again.")),
    );
  }, [screen]);
  return { show: loaded.get(screen) ?? null, problem };
}

await begin();
