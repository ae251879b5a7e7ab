// Handlers for tests of the consumer in JavaScript.
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export default {
  greet: async ({ name }) => `Hello, ${name}`,
  async fails(_input, { run }) {
    if (run.attempt === 1) throw new TypeError("not yet");
    return run.attempt;
  },
  async gives_up() {
    throw new RangeError("never");
  },
  async slow({ seconds }) {
    console.log("slow begins");
    await pause(seconds * 1000);
    return "slow";
  },
  async stops(_input, { signal }) {
    console.log("stops begins");
    await new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
  },
};
