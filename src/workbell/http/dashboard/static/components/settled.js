// Rows that stay where they are while somebody points at them: what changes within a row shows, what is new waits.
import { useEffect, useRef, useState } from "../ui.js";

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
  useEffect(() => {
    shown.current = settled;
  });
  const [, redraw] = useState(0);
  const show = () => {
    shown.current = [];
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
