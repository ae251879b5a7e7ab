// Asking again and again, for what has no topic: not when the tab is hidden, not when paused, never twice at once.
import { api } from "./api.js";
import { isAwake } from "./live.js";
import { useLocation } from "./router.js";
import { useCallback, useEffect, useRef, useState } from "./ui.js";

const INCOMPLETE = 2; // seconds until an answer that is not complete is asked for again

/**
 * `{data, problem, reload}` of GET path, asked again every so many seconds (0: only once). While it is asked again,
 * and after a failure, the last data stay. `path` may be null: nothing is asked.
 * @template {Api.Paths<"GET">} P
 * @param {P | null} path
 * @param {Api.Query<"GET", P>} [query]
 * @returns {Polled<Api.Answer<"GET", P>>}
 */
export function usePoll(path, query = {}, seconds = 2) {
  const words = JSON.stringify(query);
  const tenant = useLocation().query.get("tenant");
  const key = `${path} ${words} ${tenant}`;
  const [seen, see] = useState(/** @type {Omit<Polled<Api.Answer<"GET", P>>, "reload"> & { key: string }} */ ({ data: null, problem: null, key }));
  const asked = useRef(/** @type {AbortController | null} */ (null));

  const ask = useCallback(async () => {
    if (path === null) return null;
    asked.current?.abort();
    const mine = (asked.current = new AbortController());
    try {
      const data = await api.get(path, JSON.parse(words), { signal: mine.signal });
      if (!mine.signal.aborted) see({ data, problem: null, key });
      return data;
    } catch (problem) {
      if (!mine.signal.aborted) see((before) => ({ data: before.key === key ? before.data : null, problem, key }));
      return null;
    }
  }, [key]);

  useEffect(() => {
    let timer = 0;
    let turn = 0; // a round that another has begun after, or that nobody waits for any more, is the last of its kind
    const round = async () => {
      const mine = ++turn;
      const pause = isIncomplete(await ask()) ? INCOMPLETE : seconds;
      if (mine === turn && pause && isAwake.get()) timer = setTimeout(round, pause * 1000);
    };
    const end = () => {
      turn++;
      clearTimeout(timer);
    };
    round();
    const stop = isAwake.listen((awake) => {
      end();
      if (awake) round();
    });
    return () => {
      end();
      asked.current?.abort();
      stop();
    };
  }, [ask, seconds]);

  const current = seen.key === key;
  return { data: current ? seen.data : null, problem: current ? seen.problem : null, reload: ask };
}

/** @param {unknown} answer */
const isIncomplete = (answer) => typeof answer === "object" && answer !== null && "complete" in answer && !answer.complete;
