// How many runs match a filter, counted again every few seconds.
import { usePoll } from "../poll.js";

const PAUSE = 5; // seconds
const ONCE = 0;

/**
 * `{count, capped}` of GET /runs/count, or null before the first answer. `query` is in the words of GET /runs; without one
 * nothing is asked. A field of the input is searched run by run, so such a filter is counted once.
 * @param {Api.Words | null | undefined} query
 */
export function useRunCount(query) {
  const dear = Object.keys(query ?? {}).some((name) => name.startsWith("input."));
  return usePoll(query ? "/runs/count" : null, query ?? {}, dear ? ONCE : PAUSE).data;
}
