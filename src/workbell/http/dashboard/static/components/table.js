// A table that can be read on a narrow screen: there, each row becomes a card and each cell says its column.
import { html } from "../ui.js";

/**
 * `columns`: [{name, cell(row), look: "number" | "wide" | "", hidden: true for a name only screen readers need}].
 * The roles say what the elements are anyway: as cards they are no table to a browser any more.
 * `rows` are shown in their order, told apart by `keyOf`. `caption` says what the table is; it is read, not shown.
 */
export function Table({ caption, columns, rows, keyOf = (row) => row.id, rowClass, ...rest }) {
  return html`
    <div class="table-frame">
      <table role="table" ...${rest}>
        <caption class="visually-hidden">${caption}</caption>
        <thead role="rowgroup"><tr role="row">
          ${columns.map((one) => html`<th key=${one.name} role="columnheader" scope="col" class=${one.look}>
            ${one.head ?? html`<span class=${one.hidden ? "visually-hidden" : ""}>${one.name}</span>`}
          </th>`)}
        </tr></thead>
        <tbody role="rowgroup">
          ${rows.map((row) => html`
            <tr key=${keyOf(row)} role="row" class=${rowClass?.(row) ?? ""}>
              ${columns.map((one) => html`<td key=${one.name} role="cell" class=${one.look} data-name=${one.hidden ? "" : one.name}>${one.cell(row)}</td>`)}
            </tr>
          `)}
        </tbody>
      </table>
    </div>
  `;
}
