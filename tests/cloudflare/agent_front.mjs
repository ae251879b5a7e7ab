// A front for tests of the agent Worker: POST /send puts messages into its queue, POST /cron is a cron trigger.
import worker from "./worker.mjs";

export default {
  async fetch(request, env, context) {
    const { pathname } = new URL(request.url);
    if (pathname === "/send") for (const body of await request.json()) await env.QUEUE.send(body);
    if (pathname === "/cron") await worker.scheduled({}, env, context);
    return new Response();
  },
  queue: worker.queue,
};
