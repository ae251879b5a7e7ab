// A value that several components share, and that tells them when it changes.
import { useEffect, useState } from "./ui.js";

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
