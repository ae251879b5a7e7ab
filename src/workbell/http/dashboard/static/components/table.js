// A table that can be read on a narrow screen: there, each row becomes a card and each cell says its column.
import { html, useRef } from "../ui.js";
import { SortHead, useSorting } from "./sorting.js";

/**
 * `columns`: [{name, cell(row), classes: "number" | "wide" | "", hidden: true for a name only screen readers need, note: such as the window of
 * its numbers, below the name}]. A column
 * with `by(row)`, a number or a text, can be sorted by; the order stands in the address, under the word `sort`.
 * The roles say what the elements are anyway: as cards they are no table to a browser any more.
 * `rows` are shown in their order, told apart by `keyOf`. `caption` says what the table is; it is read, not shown.
 * `most` is how many are shown, in the order that is asked for. With `rowLink`, a click anywhere in a row follows its link of the class `strong`.
 * @template {{ id?: string | null, unreadable?: string | null }} Row
 * @param {{ caption: string, columns: Column<Row>[], rows: Row[], keyOf?: (row: Row) => string, rowClass?: (row: Row) => string, rowLink?: boolean, most?: number, sort?: string, class?: string, [name: string]: unknown }} props
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
              ${columns.map((one) => html`<td key=${one.name} role="cell" class=${one.classes} data-name=${one.hidden ? "" : one.name} data-note=${one.note}>${one.cell(row)}${one === first && row.unreadable && html`<p class="trouble">Unreadable: ${row.unreadable}</p>`}</td>`)}
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
