// How much events matched: asked for those that are shown, each once, and never with two requests at a time.
import { api } from "../api.js";
import { useEffect, useRef, useState } from "../ui.js";

const AT_ONCE = 50; // ids in one address
const MOST_KEPT = 2000;

/**
 * A Map of what GET /events/counts says, by event; it fills as answers come.
 * @param {string[]} ids
 */
export function useEventCounts(ids) {
  const known = useRef(/** @type {Map<string, Api.EventCount | null>} */ (new Map()));
  const [busy, setBusy] = useState(false);
  const missing = ids.filter((id) => !known.current.has(id)).slice(0, AT_ONCE);
  const words = missing.join(" ");
  useEffect(() => {
    if (busy || !words) return;
    setBusy(true);
    const asked = words.split(" ");
    api
      .get("/events/counts", { event: asked })
      .then(({ items }) => {
        if (known.current.size > MOST_KEPT) known.current.clear();
        for (const id of asked) known.current.set(id, null); // also those that are gone: they are not asked for again
        for (const item of items) known.current.set(item.event, item);
      })
      .catch(() => asked.forEach((id) => known.current.set(id, null)))
      .finally(() => setBusy(false));
  }, [words, busy]);
  return known.current;
}
