// Where the focus goes when the element that had it goes away: never to the top of the page.

/**
 * Focus the first element that a selector finds; whether there is one.
 * @param {string} selector
 * @param {ParentNode | null} [within]
 */
export function focusOn(selector, within = document) {
  const found = within?.querySelector(selector);
  if (!(found instanceof HTMLElement)) return false;
  found.focus();
  return true;
}

const toMain = () => document.getElementById("main")?.focus({ preventScroll: true });

/**
 * Give the focus back to the element that had it; to the screen, if that is gone.
 * @param {Element | null} element
 */
export function giveBack(element) {
  if (element instanceof HTMLElement && element.isConnected && element !== document.body) element.focus();
  else toMain();
}

/** After something was done: if it took away what had the focus, the screen gets it. */
export function keepFocus() {
  requestAnimationFrame(() => document.activeElement === document.body && toMain());
}

/**
 * To the first field of a form that is marked as wrong, once it is.
 * @param {HTMLFormElement} form
 */
export function toFirstWrong(form) {
  requestAnimationFrame(() => focusOn('[aria-invalid="true"]', form));
}
