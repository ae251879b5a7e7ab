// Every screen: its path, its name, who may see it, and the file that shows it, which is loaded when it is first opened.

/**
 * The file has a component of the screen's `name`, which gets `parts`: what the path has behind its own. `key` is the
 * letter after `g` that leads there. `needs` is the scope without which the server would tell nothing.
 * @type {ScreenEntry[]}
 */
export const SCREENS = [
  { path: "", name: "Overview", group: "work", load: () => import("./screens/overview.js"), needs: "read", key: "o" },
  { path: "runs", name: "Runs", group: "work", load: () => import("./screens/runs.js"), needs: "read", key: "r" },
  { path: "jobs", name: "Jobs", group: "work", load: () => import("./screens/jobs.js"), needs: "read", key: "j" },
  { path: "schedules", name: "Schedules", group: "work", load: () => import("./screens/schedules.js"), needs: "read", key: "s" },
  { path: "queues", name: "Queues", group: "work", load: () => import("./screens/queues.js"), needs: "read", key: "q" },
  { path: "workers", name: "Workers", group: "work", load: () => import("./screens/workers.js"), needs: "read", key: "w" },
  { path: "events", name: "Events", group: "events", load: () => import("./screens/events.js"), needs: "read", key: "e" },
  { path: "webhooks", name: "Webhooks", group: "events", load: () => import("./screens/webhooks.js"), needs: "read", key: "h" },
  { path: "notifications", name: "Notifications", group: "events", load: () => import("./screens/notifications.js"), key: "n" },
  { path: "tokens", name: "Tokens", group: "house", load: () => import("./screens/tokens.js"), needs: "admin", key: "t" },
  { path: "tenants", name: "Tenants", group: "house", load: () => import("./screens/tenants.js"), needs: "admin", key: "m" },
  { path: "audit", name: "Audit", group: "house", load: () => import("./screens/audit.js"), needs: "admin", key: "a" },
  { path: "doctor", name: "Doctor", group: "house", load: () => import("./screens/doctor.js"), needs: "read", key: "d" },
];
