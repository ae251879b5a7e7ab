// Tables: readable on a narrow screen, sorted by their columns, with rows that stay while somebody points at them.
import { Link, to, useLocation, wordsOf } from "../router.js";
import { focusOn, html, useEffect, useRef, useState } from "../ui.js";

// A table that can be read on a narrow screen: there, each row becomes a card and each cell says its column.

/**
 * `columns`: [{name, cell(row), classes: "number" | "wide" | "", hidden: true for a name only screen readers need, note: such as the window of
 * its numbers, below the name}]. A column
 * with `by(row)`, a number or a text, can be sorted by; the order stands in the address, under the word `sort`.
 * The roles say what the elements are anyway: as cards they are no table to a browser any more.
 * `rows` are shown in their order, told apart by `keyOf`. `caption` says what the table is; it is read, not shown.
 * `most` is how many are shown, in the order that is asked for. With `rowLink`, a click anywhere in a row follows its link of the class `strong`.
 * @template {{ id?: string | null, unreadable?: string | null }} Row
 * @param {{ caption: string, columns: Column<Row>[], rows: Row[], keyOf?: (row: Row) => string,
 *   rowClass?: (row: Row) => string, rowLink?: boolean, most?: number, sort?: string, class?: string, [name: string]: unknown }} props
 */
export function Table({ caption, columns, rows, keyOf = (row) => row.id ?? "", rowClass, rowLink = false, most = Infinity, sort = "sort", class: classes = "", ...rest }) {
  const sorting = useSorting(columns, sort);
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const sortable = columns.some((one) => one.by);
  const first = columns.find((one) => one.classes !== "choose"); // where it says that a row cannot be read as it is stored
  return html`
    <div class="table-frame ${sortable ? "sortable" : ""} ${rowLink ? "row-links" : ""}">
      <table role="table" class=${classes} ...${rest}>
        <caption class="visually-hidden">${caption}</caption>
        <thead role="rowgroup"><tr role="row">
          ${columns.map((one) => html`<th key=${one.name} role="columnheader" scope="col" class=${one.classes} aria-sort=${sorting.stateOf(one)}>
            ${one.head ?? (one.by ? html`<${SortHead} column=${one} sorting=${sorting} />` : html`<span class=${one.hidden ? "visually-hidden" : ""}>${one.name}</span>`)}
            ${one.note && html`<span class="column-note">${one.note}</span>`}
          </th>`)}
        </tr></thead>
        <tbody role="rowgroup" ref=${body}>
          ${sorting.sorted(rows, keyOf, body.current).slice(0, most).map((row) => html`
            <tr key=${keyOf(row)} role="row" class=${rowClass?.(row) ?? ""} onClick=${rowLink ? followRow : undefined}>
              ${columns.map((one) => html`<td key=${one.name} role="cell" class=${one.classes} data-name=${one.hidden ? "" : one.name}
                data-note=${one.note}>${one.cell(row)}${one === first && row.unreadable && html`<p class="trouble">Unreadable: ${row.unreadable}</p>`}</td>`)}
            </tr>
          `)}
        </tbody>
      </table>
    </div>
  `;
}

const OWN = "a, button, input, label, select, summary, dialog"; // what does something else when it is clicked

/**
 * As if its link had been clicked, with the same keys held; not by who selects text, or clicks something within.
 * @param {MouseEvent & { target: Element, currentTarget: Element }} event
 */
function followRow(event) {
  if (event.target.closest(OWN) || String(getSelection())) return;
  event.currentTarget.querySelector("a.strong")?.dispatchEvent(new MouseEvent("click", event));
}

// Tables that can be sorted: the column and the direction stand in the address, so a copied address shows the same.

/** @param {Column<any>} column */
const wordOf = (column) => column.name.toLowerCase().replaceAll(" ", "-");

/**
 * What `Table` needs: `{sorted(rows, keyOf, body), stateOf(column), addressOf(column)}`. In the address `failed` means from
 * the lowest, `-failed` from the highest; a word that no column knows leaves the rows as they are. While the pointer or the
 * focus is in the `body`, no row moves, whatever its numbers become.
 * @template Row
 * @param {Column<Row>[]} columns
 * @param {string} word
 */
function useSorting(columns, word) {
  const { parts, query } = useLocation();
  const asked = query.get(word) ?? "";
  const down = asked.startsWith("-");
  const column = columns.find((one) => one.by && wordOf(one) === asked.replace(/^-/, ""));
  const last = useRef({ asked: "", keys: /** @type {string[]} */ ([]) });
  /**
   * @param {Row[]} rows
   * @param {(row: Row) => string} keyOf
   * @param {Element | null} body
   */
  const sorted = (rows, keyOf, body) => {
    const by = column?.by;
    if (!by) return rows;
    const found = [...rows].sort((one, other) => compare(by(one), by(other), down));
    if (last.current.asked === asked && body?.matches(":hover, :focus-within")) {
      const positions = new Map(last.current.keys.map((key, position) => [key, position]));
      /** @param {Row} row */
      const positionOf = (row) => positions.get(keyOf(row)) ?? positions.size; // what is new comes behind them
      found.sort((one, other) => positionOf(one) - positionOf(other));
    }
    last.current = { asked, keys: found.map(keyOf) };
    return found;
  };
  /** @param {Column<Row>} one */
  const stateOf = (one) => (!one.by ? undefined : one !== column ? "none" : down ? "descending" : "ascending");
  // Numbers begin with the highest, which is what people look for; texts with the first. A second click turns it round.
  /** @param {Column<Row>} one */
  const addressOf = (one) => {
    const first = one.classes?.includes("number") ? "-" : "";
    const turned = first === "-" ? "" : "-";
    const next = one === column && down === (first === "-") ? turned : first;
    return to(parts, { ...wordsOf(query), [word]: next + wordOf(one) });
  };
  return { sorted, stateOf, addressOf };
}

/**
 * Where there is no value, a row comes last in either direction.
 * @param {string | number | null | undefined} one
 * @param {string | number | null | undefined} other
 * @param {boolean} down
 */
function compare(one, other, down) {
  const [left, right] = [one ?? null, other ?? null];
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  const order = typeof left === "string" ? left.localeCompare(String(right), "en") : left - Number(right);
  return down ? -order : order;
}

/** @type {Texts} */
const ARROWS = { ascending: "↑", descending: "↓", none: "" };

/**
 * The heading of a column that can be sorted by.
 * @param {{ column: Column<any>, sorting: ReturnType<typeof useSorting> }} props
 */
function SortHead({ column, sorting }) {
  const state = sorting.stateOf(column);
  return html`<${Link} class="sort-head" replace to=${sorting.addressOf(column)} title=${`Sort by ${column.name}`}>
    ${column.name}<span class="sort-arrow" aria-hidden="true">${ARROWS[state ?? "none"]}</span>
  <//>`;
}

// Rows that stay where they are while somebody points at them: what changes within a row shows, what is new waits.

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
 * @param {{ found: Row[], isHeld?: (row: Row) => boolean, keyOf?: (row: Row) => string, readCurrent?: (row: Row) => Promise<Row>,
 *   changes?: (row: Row) => boolean, above?: (rows: Row[]) => Child, empty?: Child, children: (rows: Row[]) => Child }} props
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
