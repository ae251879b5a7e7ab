// Handlers for tests of the agent Worker.
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export const handlers = {
  mail: async ({ to }) => ({ sent: to }),
  report: async ({ payload }) => (payload ?? []).reduce((sum, each) => sum + each, 0),
  nothing: async () => undefined,
  async fails(_input, { run }) {
    if (run.attempt === 1) throw new TypeError("not yet");
    return run.attempt;
  },
  async gives_up() {
    throw Object.assign(new Error("never"), { final: true });
  },
  async slow({ seconds }) {
    await pause(seconds * 1000);
    return "slow";
  },
  async stops(_input, { signal }) {
    await new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
  },
};
