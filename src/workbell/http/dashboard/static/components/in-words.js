// Sentences of the server: what stands between backticks is a command, or code.
import { html } from "../ui.js";

/** @param {string} text */
export const inWords = (text) => text.split("`").map((piece, index) => (index % 2 ? html`<code>${piece}</code>` : piece));
