// Where the page begins: who is this, then the frame with its screens.
import { loadSession } from "./session.js";
import { signedOut } from "./api.js";
import { App } from "./app.js";
import { html, render } from "./ui.js";

const place = document.getElementById("app");

try {
  await loadSession();
  place.textContent = "";
  render(html`<${App} />`, place);
} catch (problem) {
  place.textContent = signedOut.get()
    ? "You are signed out. `workbell tokens url` prints an address that signs you in."
    : `The dashboard could not begin: ${problem.message}`;
}
