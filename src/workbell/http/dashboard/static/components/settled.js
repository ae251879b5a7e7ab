// Rows that stay where they are while somebody points at them: what changes within a row shows, what is new waits.
import { focusOn } from "../focus.js";
import { html, useEffect, useRef, useState } from "../ui.js";

const NOTHING = () => false;
const PAUSE = 2000; // milliseconds between two reads of rows that are held and no longer sent
const FIRST = "tbody :is(a, input, button)";

/**
 * `{rows, waiting, show, hold}`: the rows to show, how many new ones wait, how to show them, and what the element around
 * the rows needs. While the pointer or the focus is in there, or `isHeld(row)` is true of one of the rows, no row comes,
 * goes or moves. One that is no longer among those wanted stays as it was, with `gone: true`; with `readCurrent`, an async
 * function that knows the row as it is now (null: it is no more), it is kept current as long as `changes(row)`.
 * @template {{ gone?: boolean }} Row
 * @param {Row[]} rows
 * @param {(row: Row) => boolean} isHeld
 * @param {(row: Row) => string} keyOf
 * @param {((row: Row) => Promise<Row>) | undefined} readCurrent
 * @param {((row: Row) => boolean) | undefined} changes
 */
function useSettled(rows, isHeld, keyOf, readCurrent, changes) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const [over, setOver] = useState(false);
  const [, redraw] = useState(0);
  const shown = useRef(/** @type {Row[]} */ ([]));
  const refresh = () => redraw((count) => count + 1);
  // The focus is read: an element that is removed with the focus fires no event.
  const focused = frame.current?.contains(document.activeElement) ?? false;
  const still = shown.current.length > 0 && (over || focused || shown.current.some(isHeld));

  const late = useRef(/** @type {Map<string, Row>} */ (new Map())); // rows that were read again, by key

  let settled = rows;
  let waiting = 0;
  if (still) {
    const byKey = new Map(rows.map((row) => [keyOf(row), row]));
    settled = shown.current.map((row) => byKey.get(keyOf(row)) ?? { ...(late.current.get(keyOf(row)) ?? row), gone: true });
    const known = new Set(settled.map(keyOf));
    waiting = rows.reduce((count, row) => count + (known.has(keyOf(row)) ? 0 : 1), 0);
  }
  if (!still) late.current.clear();
  const old = readCurrent ? settled.filter((row) => row.gone && changes?.(row)) : [];
  useCurrent(old, readCurrent, (row) => {
    late.current.set(keyOf(row), row);
    refresh();
  });
  shown.current = settled; // while it is rendered, not after: else a press of "show" could come in between
  /** @param {Event & { currentTarget: HTMLElement }} event */
  const show = (event) => {
    shown.current = [];
    // The button goes away. Who pressed it with a key goes on with the first row; who clicked it is done.
    if (event.currentTarget.matches(":focus-visible")) requestAnimationFrame(() => focusOn(FIRST, frame.current));
    else event.currentTarget.blur();
    refresh();
  };
  const hold = {
    ref: frame,
    onPointerEnter: (/** @type {PointerEvent} */ event) => event.pointerType !== "touch" && setOver(true),
    onPointerLeave: () => setOver(false),
    onFocusOut: () => setTimeout(refresh), // by then the focus is where it goes
  };
  return { rows: settled, waiting, show, hold };
}

/**
 * Look these rows up, one after the other, again and again.
 * @template Row
 * @param {Row[]} rows
 * @param {((row: Row) => Promise<Row>) | undefined} readCurrent
 * @param {(row: Row) => void} found
 */
function useCurrent(rows, readCurrent, found) {
  const now = useRef({ rows, found });
  now.current = { rows, found };
  const any = rows.length > 0;
  useEffect(() => {
    if (!any || !readCurrent) return undefined;
    let over = false;
    const round = async () => {
      for (const row of now.current.rows) {
        const current = over ? null : await readCurrent(row).catch(() => null); // it is asked for again
        if (current && !over) now.current.found(current);
      }
      if (!over) setTimeout(round, PAUSE);
    };
    round();
    return () => (over = true);
  }, [any]);
}

/**
 * Rows that are held still: `children(rows)` shows them. The button for new rows lies over their upper edge, so that it
 * moves nothing when it comes. `above(rows)` stands above them. `empty` is shown where there are no rows.
 * @template {{ id?: string | null, gone?: boolean }} Row
 * @param {{ found: Row[], isHeld?: (row: Row) => boolean, keyOf?: (row: Row) => string, readCurrent?: (row: Row) => Promise<Row>, changes?: (row: Row) => boolean, above?: (rows: Row[]) => Child, empty?: Child, children: (rows: Row[]) => Child }} props
 */
export function Settled({ found, isHeld = NOTHING, keyOf = (row) => row.id ?? "", readCurrent, changes, above, empty = null, children }) {
  const { rows, waiting, show, hold } = useSettled(found, isHeld, keyOf, readCurrent, changes);
  return html`
    <div ...${hold}>
      ${
        rows.length === 0
          ? empty
          : html`
              ${above?.(rows)}
              <div class="settled">
                ${waiting > 0 && html`<button type="button" class="primary small show-new" onClick=${show}>Show ${waiting} new</button>`}
                ${children(rows)}
              </div>
            `
      }
    </div>
  `;
}
