// Tables that can be sorted: the column and the direction stand in the address, so a copied address shows the same.
import { Link, to, useLocation, wordsOf } from "../router.js";
import { html, useRef } from "../ui.js";

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
export function useSorting(columns, word) {
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
export function SortHead({ column, sorting }) {
  const state = sorting.stateOf(column);
  return html`<${Link} class="sort-head" replace to=${sorting.addressOf(column)} title=${`Sort by ${column.name}`}>
    ${column.name}<span class="sort-arrow" aria-hidden="true">${ARROWS[state ?? "none"]}</span>
  <//>`;
}
