// Words of the filter of runs, generated from src/workbell/model/run_filter.py by tools/dashboard_words.py.
// Do not edit them: run `make generate`.

/** In the order of their fields; a word whose label is null has none. */
export const WORDS = /** @type {const} */ ([
  { name: "status", kind: "statuses", label: "Status" },
  { name: "job", kind: "name", label: "Job" },
  { name: "queue", kind: "name", label: "Queue" },
  { name: "tag", kind: "name", label: "Tag" },
  { name: "schedule", kind: "schedule", label: "Schedule" },
  { name: "user_id", kind: "user", label: "User" },
  { name: "target", kind: "name", label: "Target" },
  { name: "event", kind: "event", label: "Event id" },
  { name: "retry_of", kind: "run", label: null },
  { name: "retried", kind: "yes-no", label: "Retried" },
  { name: "since", kind: "time", label: "Since" },
  { name: "until", kind: "time", label: "Until" },
  { name: "input", kind: "input", label: "Input field" },
]);
