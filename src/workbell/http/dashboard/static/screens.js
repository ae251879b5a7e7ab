// Every screen: its path, its name, who may see it, and the component that shows it.
import { Audit } from "./screens/audit.js";
import { Doctor } from "./screens/doctor.js";
import { Events } from "./screens/events.js";
import { Jobs } from "./screens/jobs.js";
import { Notifications } from "./screens/notifications.js";
import { Overview } from "./screens/overview.js";
import { Queues } from "./screens/queues.js";
import { Runs } from "./screens/runs.js";
import { Schedules } from "./screens/schedules.js";
import { Tenants } from "./screens/tenants.js";
import { Tokens } from "./screens/tokens.js";
import { Webhooks } from "./screens/webhooks.js";
import { Workers } from "./screens/workers.js";

/**
 * `show` gets `parts`: what the path has behind the screen's own name. `key` is the letter after `g` that leads there.
 * `needs` is the scope without which the server would tell nothing.
 */
export const SCREENS = [
  { path: "", name: "Overview", group: "work", show: Overview, needs: "read", key: "o" },
  { path: "runs", name: "Runs", group: "work", show: Runs, needs: "read", key: "r" },
  { path: "jobs", name: "Jobs", group: "work", show: Jobs, needs: "read", key: "j" },
  { path: "schedules", name: "Schedules", group: "work", show: Schedules, needs: "read", key: "s" },
  { path: "queues", name: "Queues", group: "work", show: Queues, needs: "read", key: "q" },
  { path: "workers", name: "Workers", group: "work", show: Workers, needs: "read", key: "w" },
  { path: "events", name: "Events", group: "events", show: Events, needs: "read", key: "e" },
  { path: "webhooks", name: "Webhooks", group: "events", show: Webhooks, needs: "read", key: "h" },
  { path: "notifications", name: "Notifications", group: "events", show: Notifications, key: "n" },
  { path: "tokens", name: "Tokens", group: "house", show: Tokens, needs: "admin", key: "t" },
  { path: "tenants", name: "Tenants", group: "house", show: Tenants, needs: "admin", key: "m" },
  { path: "audit", name: "Audit", group: "house", show: Audit, needs: "admin", key: "a" },
  { path: "doctor", name: "Doctor", group: "house", show: Doctor, needs: "read", key: "d" },
];
