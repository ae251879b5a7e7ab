// Handlers by the names of their jobs: (input, {run, signal}) → result. An error is a failure, and is tried again by the policy.
export default {
  async greet({ name }) {
    return `Hello, ${name}`;
  },
};
