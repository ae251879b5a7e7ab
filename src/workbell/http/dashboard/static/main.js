// Where the page begins: who is this, then the frame with its screens.
import { loadSession } from "./session.js";
import { signedOut } from "./api.js";
import { App } from "./app.js";
import { html, render } from "./ui.js";

const root = /** @type {HTMLElement} */ (document.getElementById("app"));
const PAUSE = 2000; // before the server is asked again, if it did not answer

async function begin() {
  try {
    await loadSession();
    root.textContent = "";
    render(html`<${App} />`, root);
  } catch (problem) {
    root.textContent = signedOut.get()
      ? "You are signed out. `workbell tokens url` prints an address that signs you in."
      : `The dashboard could not begin: ${problem.message}`;
    if (!problem.status) setTimeout(begin, PAUSE);
  }
}

await begin();
