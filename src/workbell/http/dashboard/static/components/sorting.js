// Tables that can be sorted: the column and the direction stand in the address, so a copied address shows the same.
import { Link, to, useLocation, wordsOf } from "../router.js";
import { html, useRef } from "../ui.js";

const wordOf = (column) => column.name.toLowerCase().replaceAll(" ", "-");

/**
 * What `Table` needs: `{sorted(rows, keyOf, body), stateOf(column), addressOf(column)}`. In the address `failed` means from
 * the lowest, `-failed` from the highest; a word that no column knows leaves the rows as they are. While the pointer or the
 * focus is in the `body`, no row moves, whatever its numbers become.
 */
export function useSorting(columns, word) {
  const { parts, query } = useLocation();
  const asked = query.get(word) ?? "";
  const down = asked.startsWith("-");
  const column = columns.find((one) => one.by && wordOf(one) === asked.replace(/^-/, ""));
  const last = useRef({ asked: null, keys: [] });
  const sorted = (rows, keyOf, body) => {
    if (!column) return rows;
    const found = [...rows].sort((one, other) => compare(column.by(one), column.by(other), down));
    if (last.current.asked === asked && body?.matches(":hover, :focus-within")) {
      const positions = new Map(last.current.keys.map((key, position) => [key, position]));
      const positionOf = (row) => positions.get(keyOf(row)) ?? positions.size; // what is new comes behind them
      found.sort((one, other) => positionOf(one) - positionOf(other));
    }
    last.current = { asked, keys: found.map(keyOf) };
    return found;
  };
  const stateOf = (one) => (!one.by ? undefined : one !== column ? "none" : down ? "descending" : "ascending");
  // Numbers begin with the highest, which is what people look for; texts with the first. A second click turns it round.
  const addressOf = (one) => {
    const first = one.classes?.includes("number") ? "-" : "";
    const turned = first === "-" ? "" : "-";
    const next = one === column && down === (first === "-") ? turned : first;
    return to(parts, { ...wordsOf(query), [word]: next + wordOf(one) });
  };
  return { sorted, stateOf, addressOf };
}

/** Where there is no value, a row comes last in either direction. */
function compare(one, other, down) {
  const [left, right] = [one ?? null, other ?? null];
  if (left === null || right === null) return (left === null) - (right === null);
  const order = typeof left === "string" ? left.localeCompare(right, "en") : left - right;
  return down ? -order : order;
}

const ARROWS = { ascending: "↑", descending: "↓", none: "" };

/** The heading of a column that can be sorted by. */
export function SortHead({ column, sorting }) {
  const state = sorting.stateOf(column);
  return html`<${Link} class="sort-head" replace to=${sorting.addressOf(column)} title=${`Sort by ${column.name}`}>
    ${column.name}<span class="sort-arrow" aria-hidden="true">${ARROWS[state]}</span>
  <//>`;
}
