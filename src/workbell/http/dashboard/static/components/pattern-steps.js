// Why a pattern matches a type or not, word by word. The server has judged; this shows how it came to it.
import { html } from "../ui.js";

/** @param {{ type: string, pattern: string, matches: boolean }} props */
export function PatternSteps({ type, pattern, matches }) {
  const steps = stepsOf(type.split("."), pattern === "*" ? ["**"] : pattern.split("."));
  const fits = steps.every((step) => step.fits);
  return html`
    <ol class="steps" aria-label="Word by word">
      ${steps.map(
        (step, index) => html`<li key=${index} class=${step.fits ? "fits" : "fits-not"}>
          <span aria-hidden="true">${step.fits ? "✓" : "✕"}</span> ${step.pattern && html`<code>${step.pattern}</code>`} ${step.says} ${step.type && html`<code>${step.type}</code>`}
        </li>`,
      )}
    </ol>
    ${fits && !matches && html`<p class="faint">It is one of Workbell's own: those are heard only by a pattern whose first word is written out.</p>`}
  `;
}

/**
 * @param {string[]} type
 * @param {string[]} pattern
 */
function stepsOf(type, pattern) {
  const steps = [];
  for (let index = 0; index < Math.max(type.length, pattern.length); index++) {
    const wanted = pattern[index];
    const word = type[index];
    if (wanted === undefined) {
      steps.push({ fits: false, says: "the pattern ends here, and leaves over", type: type.slice(index).join(".") });
      break;
    }
    if (word === undefined) steps.push({ fits: false, pattern: wanted, says: "finds no word" });
    else if (wanted === "**") return [...steps, { fits: true, pattern: "**", says: "takes", type: type.slice(index).join(".") }];
    else if (wanted === "*") steps.push({ fits: true, pattern: "*", says: "takes", type: word });
    else steps.push({ fits: wanted === word, pattern: wanted, says: wanted === word ? "is" : "is not", type: word });
  }
  return steps;
}
