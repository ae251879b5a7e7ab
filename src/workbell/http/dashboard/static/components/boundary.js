// A screen that breaks says so, and leaves the frame around it alone.
import { Component, html } from "../ui.js";
import { Page } from "./page.js";

/** @extends {Component<{ children: Child }, { error?: Error }>} */
export class Boundary extends Component {
  /** @param {Error} error */
  componentDidCatch(error) {
    console.error(error);
    this.setState({ error });
  }

  /**
   * @param {{ children: Child }} props
   * @param {{ error?: Error }} state
   */
  render({ children }, { error }) {
    if (!error) return children;
    return html`<${Page} title="This cannot be shown">
      <p class="trouble" role="alert">The page has a fault, and nothing was changed by it: ${String(error.message ?? error)}</p>
      <p><a href=${location.href}>Reload</a></p>
    <//>`;
  }
}
