// What every component needs: markup in template strings (`html`), the hooks, values that several components share, and the focus.
import { useCallback, useEffect, useId, useMemo, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";
import { h } from "./vendor/preact.js";

export { useCallback, useEffect, useId, useMemo, useRef, useState };
export { Component, render } from "./vendor/preact.js";

/** Markup as a template string. Values are text, never HTML: what a job is called or says cannot become markup. */
export const html = htm.bind(h);

// A value that several components share, and that tells them when it changes.

/**
 * @template T
 * @param {T} first
 */
export function shared(first) {
  let value = first;
  /** @type {Set<(value: T) => void>} */
  const listeners = new Set();
  return {
    get: () => value,
    /** @param {T} next */
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    /**
     * Be told of every change; returns how to stop it.
     * @param {(value: T) => void} listener
     */
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** The value, for a component that is rendered again when it changes. */
    use() {
      const [seen, see] = useState(() => value);
      useEffect(() => {
        see(() => value);
        /** @param {T} next */
        const listener = (next) => see(() => next);
        listeners.add(listener);
        return () => listeners.delete(listener);
      }, []);
      return seen;
    },
  };
}

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
