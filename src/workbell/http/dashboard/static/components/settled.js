// Rows that stay where they are while somebody points at them: what changes within a row shows, what is new waits.
import { html, useRef, useState } from "../ui.js";

/**
 * `{rows, waiting, show, hold}`: the rows to show, how many new ones wait, how to show them, and the handlers for the
 * element around the rows. While the pointer or the focus is in there, or `held` is true, no row comes, goes or moves;
 * one that is no longer among those wanted stays with `gone: true`.
 */
export function useSettled(rows, held, keyOf = (row) => row.id) {
  const [over, setOver] = useState(false);
  const [focused, setFocused] = useState(false);
  const shown = useRef([]);
  const still = (over || focused || held) && shown.current.length > 0;

  let settled = rows;
  let waiting = 0;
  if (still) {
    const byKey = new Map(rows.map((row) => [keyOf(row), row]));
    settled = shown.current.map((row) => byKey.get(keyOf(row)) ?? { ...row, gone: true });
    const known = new Set(settled.map(keyOf));
    waiting = rows.reduce((count, row) => count + (known.has(keyOf(row)) ? 0 : 1), 0);
  }
  shown.current = settled; // while it is rendered, not after: else a press of "show" could come in between
  const [, redraw] = useState(0);
  const show = () => {
    shown.current = [];
    setFocused(false); // the button that had it goes away, and would not tell
    redraw((count) => count + 1);
  };
  const hold = {
    onPointerEnter: (event) => event.pointerType !== "touch" && setOver(true),
    onPointerLeave: () => setOver(false),
    onFocusIn: () => setFocused(true),
    onFocusOut: (event) => event.currentTarget.contains(event.relatedTarget) || setFocused(false),
  };
  return { rows: settled, waiting, show, hold };
}

/**
 * Rows that are held still: `children(rows)` shows them. Above them is a place that is as high without the button for
 * new rows as with it, lest it move them; `above(rows)` is put there too.
 */
export function Settled({ found, held = false, keyOf, above, children }) {
  const { rows, waiting, show, hold } = useSettled(found, held, keyOf);
  return html`
    <div ...${hold}>
      <div class="above">
        ${above ? above(rows) : html`<span></span>`}
        ${waiting > 0 && html`<button type="button" class="primary small" onClick=${show}>Show ${waiting} new</button>`}
      </div>
      ${children(rows)}
    </div>
  `;
}
