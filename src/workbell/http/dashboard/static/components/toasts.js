// Short messages: what an action came to, for eyes and for screen readers. Errors stay until they are put away.
import { html, shared } from "../ui.js";

const SHOWN = 5000;
const CALM = 5000; // between two announcements of things that happen by themselves

const toasts = shared(/** @type {{ id: number, text: string, bad: boolean }[]} */ ([]));
const spoken = shared("");
let number = 0;
let waiting = 0;
let lastSpoken = 0;

/**
 * Show what an action came to.
 * @param {string} text
 * @param {{ bad?: boolean }} [options]
 */
export function toast(text, { bad = false } = {}) {
  const id = ++number;
  toasts.set([...toasts.get().slice(-4), { id, text, bad }]);
  if (!bad) setTimeout(() => putAway(id), SHOWN);
}

/** @param {number} id */
const putAway = (id) => toasts.set(toasts.get().filter((one) => one.id !== id));

/**
 * Say something to screen readers alone; what happens by itself is said at most every five seconds, the latest only.
 * @param {string} text
 * @param {{ calm?: boolean }} [options]
 */
export function announce(text, { calm = false } = {}) {
  clearTimeout(waiting);
  const pause = calm ? Math.max(0, lastSpoken + CALM - Date.now()) : 0;
  waiting = setTimeout(() => {
    lastSpoken = Date.now();
    spoken.set(text === spoken.get() ? `${text}\u00a0` : text); // the same again would not be heard
  }, pause);
}

/** Where they appear; once on the page. */
export function Toasts() {
  const shown = toasts.use();
  const text = spoken.use();
  return html`
    <div class="toasts" role="region" aria-label="Messages" aria-live="polite">
      ${shown.map(
        (one) => html`
          <div key=${one.id} class="toast ${one.bad ? "toast-bad" : ""}" role=${one.bad ? "alert" : undefined}>
            <span>${one.text}</span>
            <button type="button" class="small quiet" aria-label="Put this message away" onClick=${() => putAway(one.id)}>✕</button>
          </div>
        `,
      )}
    </div>
    <div class="visually-hidden" aria-live="polite">${text}</div>
  `;
}
