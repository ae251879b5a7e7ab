// How many runs of each job are running now.
import { useLive } from "../live.js";

const MOST = 200;

/** A Map from the name of a job to how many of its runs are running, among the newest 200 that are. */
export function useRunning(filter = {}) {
  const { rows } = useLive("runs", { ...filter, status: "running", limit: MOST });
  const count = new Map();
  for (const run of rows?.values() ?? []) count.set(run.job, (count.get(run.job) ?? 0) + 1);
  return count;
}
