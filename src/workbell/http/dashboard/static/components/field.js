// A field of a form: label, control, hint and what is wrong with it, tied together for screen readers.
import { html, useId } from "../ui.js";

/**
 * Text, number, password, datetime-local … `onChange` gets the text.
 * @param {{ label: string, value: string, onChange: (text: string) => unknown, hint?: Child, wrong?: string | null, type?: string, [name: string]: unknown }} props
 */
export function Field({ label, value, onChange, hint, wrong, type = "text", ...rest }) {
  const name = useId();
  return html`
    <div class="field">
      <label for=${name}>${label}</label>
      <input id=${name} type=${type} value=${value} onInput=${(event) => onChange(event.target.value)}
        aria-describedby="${name}-hint" aria-invalid=${wrong ? "true" : undefined} autocomplete="off" ...${rest} />
      <${Notes} name=${name} hint=${hint} wrong=${wrong} />
    </div>
  `;
}

/**
 * Several lines, JSON mostly.
 * @param {{ label: string, value: string, onChange: (text: string) => unknown, hint?: Child, wrong?: string | null, rows?: number, [name: string]: unknown }} props
 */
export function Area({ label, value, onChange, hint, wrong, rows = 6, ...rest }) {
  const name = useId();
  return html`
    <div class="field">
      <label for=${name}>${label}</label>
      <textarea id=${name} rows=${rows} value=${value} onInput=${(event) => onChange(event.target.value)}
        aria-describedby="${name}-hint" aria-invalid=${wrong ? "true" : undefined} spellcheck="false" ...${rest}></textarea>
      <${Notes} name=${name} hint=${hint} wrong=${wrong} />
    </div>
  `;
}

/**
 * One of several; `options` are texts or [value, text].
 * @param {{ label: string, value: string, onChange: (value: string) => unknown, options: (string | string[])[], hint?: Child, wrong?: string | null, [name: string]: unknown }} props
 */
export function Choice({ label, value, onChange, options, hint, wrong, ...rest }) {
  const name = useId();
  return html`
    <div class="field">
      <label for=${name}>${label}</label>
      <select id=${name} value=${value} onChange=${(event) => onChange(event.target.value)}
        aria-describedby="${name}-hint" aria-invalid=${wrong ? "true" : undefined} ...${rest}>
        ${options.map((one) => {
          const [known, text] = Array.isArray(one) ? one : [one, one];
          return html`<option key=${known} value=${known} selected=${known === value}>${text}</option>`;
        })}
      </select>
      <${Notes} name=${name} hint=${hint} wrong=${wrong} />
    </div>
  `;
}

/**
 * Yes or no.
 * @param {{ label: string, checked: boolean, onChange: (on: boolean) => unknown, [name: string]: unknown }} props
 */
export function Check({ label, checked, onChange, ...rest }) {
  return html`<label class="check">
    <input type="checkbox" checked=${checked} onChange=${(event) => onChange(event.target.checked)} ...${rest} /><span>${label}</span>
  </label>`;
}

/** @param {{ name: string, hint?: Child, wrong?: string | null }} props */
function Notes({ name, hint, wrong }) {
  return html`<p id="${name}-hint" class="hint">
    ${wrong ? html`<span class="wrong">${wrong}</span>` : hint}
  </p>`;
}
