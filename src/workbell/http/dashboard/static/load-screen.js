// A screen's component, from a file that is loaded when it is first needed: who opens one screen does not wait for all.
import { Problem } from "./api.js";
import { useEffect, useState } from "./ui.js";

/** @type {Map<ScreenEntry, unknown>} */
const loaded = new Map();

/**
 * `{show, problem}`: the component once it is there.
 * @param {ScreenEntry} screen
 */
export function useScreen(screen) {
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [, redraw] = useState(0);
  useEffect(() => {
    if (loaded.has(screen)) return;
    screen.load().then(
      (file) => {
        loaded.set(screen, file[screen.name]);
        redraw((count) => count + 1);
      },
      () => setProblem(new Problem("This screen could not be loaded. Is the server running? Load the page again.")),
    );
  }, [screen]);
  return { show: loaded.get(screen) ?? null, problem };
}
