// The frame of a screen: its heading, what can be done on it, and what to show when there is nothing or an error.
import { html, useEffect } from "../ui.js";
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
