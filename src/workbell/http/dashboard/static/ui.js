// What every component needs: markup in template strings (`html`), and the hooks.
import { h } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export { Component, render } from "./vendor/preact.js";
export { useCallback, useEffect, useId, useMemo, useRef, useState } from "./vendor/hooks.js";

/** Markup as a template string. Values are text, never HTML: what a job is called or says cannot become markup. */
export const html = htm.bind(h);
