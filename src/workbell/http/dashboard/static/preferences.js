// What a person has chosen, stored by the browser: the theme, the zone of times, and whether keyboard shortcuts are on.
import { shared } from "./ui.js";

/**
 * @template {string} T
 * @param {string} name
 * @param {T[]} known
 * @param {T} otherwise
 */
function stored(name, known, otherwise) {
  /** @type {string | null} */
  let found = null;
  try {
    found = localStorage.getItem(name);
  } catch {
    // Nothing can be stored here; the choice lives as long as the page.
  }
  const preference = shared(known.find((one) => one === found) ?? otherwise);
  preference.listen((value) => {
    try {
      localStorage.setItem(name, value);
    } catch {
      // As above.
    }
  });
  return preference;
}

/** `system`, `light` or `dark`. */
export const theme = stored("workbell-theme", ["system", "light", "dark"], "system");
/** `local` or `utc`. */
export const zone = stored("workbell-zone", ["local", "utc"], "local");
/** `on` or `off`: whether single letters are shortcuts. */
export const shortcuts = stored("workbell-shortcuts", ["on", "off"], "on");

theme.listen((value) => {
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
});

// Whether the screen is narrow, as style/3-frame.css means it: then the navigation is behind a button.

const query = window.matchMedia("(max-width: 56rem)");
const narrow = shared(query.matches);
query.addEventListener("change", () => narrow.set(query.matches));

export const useNarrow = () => narrow.use();
