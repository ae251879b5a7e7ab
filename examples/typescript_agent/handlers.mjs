// Your handlers, by the names of their jobs. What one returns is the result of the run; what it throws is a failure, and
// the run is tried again as its retry policy says. An error with `final: true` is not tried again.

/** @type {Record<string, import("./worker.mjs").Handler>} */
export const handlers = {
  /** @param {{ to: string }} input */
  async mail(input) {
    return { sent: input.to };
  },

  async report({ payload }, { signal }) {
    signal.throwIfAborted(); // the run was canceled, or its lease is lost
    return { total: (payload ?? []).reduce((sum, each) => sum + each, 0) };
  },
};
