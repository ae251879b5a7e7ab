// The address is the state: which screen, which thing, which filter. Links work, Back works, a copied address works.
import { html, shared } from "./ui.js";

/** Where the service lies, such as "/ops" if it is mounted there. */
export const root = document.querySelector('meta[name="workbell-root"]')?.getAttribute("content") ?? "";

/** @param {string} path */
const partsOf = (path) => path.split("/").filter(Boolean);

const location_ = shared(read());

function read() {
  // By their number: the address may write the parts of the root in another way than the server did.
  const parts = partsOf(location.pathname).slice(partsOf(root).length).map(decoded);
  return { parts, query: new URLSearchParams(location.search) };
}

/**
 * A part as it was meant. One that somebody typed with a bare "%" in it means what it says.
 * @param {string} text
 */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

window.addEventListener("popstate", () => location_.set(read()));

/** `{parts, query}`: the decoded parts of the path below the root, and its query. */
export const useLocation = () => location_.use();
export const currentQuery = () => location_.get().query;
export const listenToLocation = location_.listen;

/**
 * The words of a query as `to` takes them; of a word that stands there several times, all its values.
 * @param {URLSearchParams} query
 * @returns {Api.Words}
 */
export const wordsOf = (query) => Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)]));

/**
 * An address within the dashboard: `to(["runs", id], {tab: "log"})`. Parts may hold any characters. The tenant that is
 * looked at stays in it.
 * @param {readonly string[]} parts
 * @param {Api.Words} [query]
 */
export function to(parts, query = {}) {
  const words = new URLSearchParams();
  const tenant = currentQuery().get("tenant");
  for (const [name, value] of Object.entries(tenant ? { tenant, ...query } : query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") words.append(name, String(one));
    }
  }
  const text = words.toString();
  return `${root}/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/**
 * Go to an address; `replace` if Back shall not lead here again (typing in a filter).
 * @param {string} address
 */
export function go(address, { replace = false } = {}) {
  const here = address === `${location.pathname}${location.search}`; // one step back shall lead elsewhere
  history[replace || here ? "replaceState" : "pushState"](null, "", address);
  location_.set(read());
  if (!replace) window.scrollTo(0, 0);
}

/**
 * A link to a screen, without loading the page anew. With a modifier key it opens a tab, as any link does. With `replace`
 * it shows the same screen in another way: Back does not lead through it, and nothing scrolls.
 * @param {{ to: string, replace?: boolean, children?: Child, [name: string]: unknown }} props
 */
export function Link({ to: address, replace = false, children, ...rest }) {
  /** @param {MouseEvent} event */
  const follow = (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(address, { replace });
  };
  return html`<a href=${address} onClick=${follow} ...${rest}>${children}</a>`;
}

/**
 * Set words of the address's query; an empty value takes a word away.
 * @param {readonly string[]} parts
 * @param {Api.Words} changes
 * @param {{ replace?: boolean }} [options]
 */
export function setQuery(parts, changes, options) {
  go(to(parts, { ...wordsOf(currentQuery()), ...changes }), options);
}
