// The frame of a screen: its heading, its sections and pages, and what to show when there is nothing or an error.
import { Link, to, useLocation, wordsOf } from "../router.js";
import { Component, html, useEffect } from "../ui.js";
import { Copy } from "./copy.js";

/**
 * A screen. `title` names it in the tab as well; `actions` stand beside the heading.
 * @param {{ title: string, heading?: Child, lead?: Child, actions?: Child, children?: Child }} props
 */
export function Page({ title, heading, lead, actions, children }) {
  useEffect(() => {
    document.title = `${title} · Workbell`;
  }, [title]);
  return html`
    <header class="page-head">
      <div class="page-title">
        <h1>${heading ?? title}</h1>
        ${lead && html`<p class="faint">${lead}</p>`}
      </div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${children}
  `;
}

/**
 * A part of a screen with a heading of its own.
 * @param {{ title: string, actions?: Child, children?: Child, class?: string }} props
 */
export function Section({ title, actions, children, class: more = "" }) {
  return html`
    <section class="card ${more}">
      <header class="card-head">
        <h2>${title}</h2>
        ${actions && html`<div class="actions">${actions}</div>`}
      </header>
      ${children}
    </section>
  `;
}

/**
 * Nothing is there yet: what that means, and the very command or code that changes it.
 * @param {{ children?: Child, code?: string }} props
 */
export function Empty({ children, code }) {
  return html`
    <div class="empty">
      <p>${children}</p>
      ${code && html`<div class="empty-code"><pre tabindex="0"><code>${code}</code></pre><${Copy} text=${code} /></div>`}
    </div>
  `;
}

/**
 * What went wrong, in the server's words; said to screen readers at once.
 * @param {{ problem?: Failure | null }} props
 */
export function Trouble({ problem }) {
  return problem ? html`<p class="trouble" role="alert">${problem.message}</p>` : null;
}

/** Until the first answer is there. */
export function Loading() {
  return html`<p class="loading" aria-busy="true">Loading …</p>`;
}

/**
 * Facts with their names. `facts` is a list of [name, value]; those without a value are left out.
 * @param {{ facts: readonly (readonly [string, Child])[] }} props
 */
export function Facts({ facts }) {
  const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return html`<dl class="facts">
    ${shown.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

// A screen that breaks says so, and leaves the frame around it alone.

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

// Pages by cursor: forward, and back to the first. The cursor stands in the address, so Back works.

/**
 * `next` is the cursor that the API gave, or null; `name` its word in the address; `first` and `further` the labels.
 * @param {{ next: string | null | undefined, name?: string, first?: string, further?: string }} props
 */
export function Pager({ next, name = "before", first = "« Newest", further = "Older »" }) {
  const { parts, query } = useLocation();
  const { [name]: here, ...others } = wordsOf(query);
  if (!next && !here) return null;
  return html`
    <nav class="pager" aria-label="Pages">
      ${here ? html`<${Link} class="button" to=${to(parts, others)}>${first}<//>` : html`<span></span>`}
      ${next ? html`<${Link} class="button" to=${to(parts, { ...others, [name]: next })}>${further}<//>` : html`<span class="faint">That is all.</span>`}
    </nav>
  `;
}
