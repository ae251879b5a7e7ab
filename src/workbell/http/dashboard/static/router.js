// The address is the state: which screen, which thing, which filter. Links work, Back works, a copied address works.
import { shared } from "./store.js";
import { html } from "./ui.js";

/** Where the service lies, such as "/ops" if it is mounted there. */
export const root = document.querySelector('meta[name="workbell-root"]')?.content ?? "";

const location_ = shared(read());

function read() {
  const path = decodeURI(location.pathname).startsWith(root) ? location.pathname.slice(root.length) : location.pathname;
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { parts, query: new URLSearchParams(location.search) };
}

window.addEventListener("popstate", () => location_.set(read()));

/** `{parts, query}`: the decoded parts of the path below the root, and its query. */
export const useLocation = () => location_.use();
export const currentQuery = () => location_.get().query;
export const listenToLocation = location_.listen;

/**
 * An address within the dashboard: `to(["runs", id], {tab: "log"})`. Parts may hold any characters. The tenant that is
 * looked at stays in it.
 */
export function to(parts, query = {}) {
  const words = new URLSearchParams();
  const tenant = currentQuery().get("tenant");
  for (const [name, value] of Object.entries(tenant ? { tenant, ...query } : query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") words.append(name, one);
    }
  }
  const text = words.toString();
  return `${root}/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Go to an address; `replace` if Back shall not lead here again (typing in a filter). */
export function go(address, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  location_.set(read());
  if (!replace) window.scrollTo(0, 0);
}

/** A link to a screen, without loading the page anew. With a modifier key it opens a tab, as any link does. */
export function Link({ to: address, children, ...rest }) {
  const follow = (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(address);
  };
  return html`<a href=${address} onClick=${follow} ...${rest}>${children}</a>`;
}
