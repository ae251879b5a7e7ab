// Where the focus goes when the element that had it goes away: never to the top of the page.

const toMain = () => document.getElementById("main")?.focus({ preventScroll: true });

/** Give the focus back to the element that had it; to the screen, if that is gone. */
export function giveBack(element) {
  if (element?.isConnected && element !== document.body) element.focus();
  else toMain();
}

/** After something was done: if it took away what had the focus, the screen gets it. */
export function keepFocus() {
  requestAnimationFrame(() => document.activeElement === document.body && toMain());
}

/** To the first field of a form that is marked as wrong, once it is. */
export function toFirstWrong(form) {
  requestAnimationFrame(() => form.querySelector('[aria-invalid="true"]')?.focus());
}
