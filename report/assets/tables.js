/* Tables of the page: sorting, filtering, copying names. */

function cellValue(row, column) {
    const cell = row.cells[column];
    return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
}

function sortTable(table, column, descending) {
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => {
        const x = cellValue(a, column), y = cellValue(b, column);
        return typeof x === 'number' ? x - y : x.localeCompare(y);
    });
    if (descending) rows.reverse();
    body.append(...rows);
    [...table.tHead.rows[0].cells].forEach((th, i) => {
        if (i === column) th.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
        else th.removeAttribute('aria-sort');
    });
}

function makeSortable(table) {
    [...table.tHead.rows[0].cells].forEach((th, column) => {
        if (!table.tBodies[0].rows.length || th.scope !== 'col') return;
        const button = element('button', th.textContent);
        button.addEventListener('click', () => {
            const numeric = table.tBodies[0].rows[0].cells[column].dataset.v !== undefined;
            const now = th.getAttribute('aria-sort');
            sortTable(table, column, now ? now === 'ascending' : numeric);
        });
        th.replaceChildren(button);
    });
}

function makeFilter(input, table, status) {
    input.addEventListener('input', () => {
        const wanted = input.value.toLowerCase();
        let shown = 0;
        for (const row of table.tBodies[0].rows) {
            const name = row.cells[0];
            row.hidden = !(name.textContent + ' ' + name.title).toLowerCase().includes(wanted);
            shown += !row.hidden;
        }
        status.textContent = wanted ? shown + ' of ' + table.tBodies[0].rows.length : '';
    });
}

/* What is copied out of a shortened name is the whole of it, as it was recorded. */
function copyWholeName(e) {
    const selection = document.getSelection();
    const nameOf = node => (node && node.nodeType === 3 ? node.parentElement : node)?.closest?.('.mid');
    const name = nameOf(selection.anchorNode);
    if (!name || name !== nameOf(selection.focusNode) || selection.isCollapsed) return;
    e.clipboardData.setData('text/plain', name.title);
    e.preventDefault();
}
