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

/* The text of a cell: with whole names, and without buttons. */
function cellText(cell) {
    const copy = cell.cloneNode(true);
    for (const name of copy.querySelectorAll('.mid')) name.textContent = name.title;
    for (const button of copy.querySelectorAll('button.zoom')) button.remove();
    return copy.textContent.trim();
}

/* The selected part of a table as text: a line for each row, a tab between cells. */
function copiedRows(table, range) {
    return [...table.rows].filter(row => !row.hidden && range.intersectsNode(row))
        .map(row => [...row.cells].filter(cell => range.intersectsNode(cell)).map(cellText).join('\t')).join('\n');
}

/* Copying a shortened name copies the whole name, alone and in rows. */
function copyWhole(e) {
    const selection = document.getSelection();
    if (selection.isCollapsed) return;
    const range = selection.getRangeAt(0), {commonAncestorContainer: node} = range, around = node.nodeType === 3 ? node.parentElement : node;
    const name = around.closest('.mid'), cell = around.closest('td, th'), table = around.closest('table.data');
    const text = name ? name.title : table && (!cell || cell.querySelector('.mid')) ? copiedRows(table, range) : '';
    if (!text) return;
    e.clipboardData.setData('text/plain', text);
    e.preventDefault();
}
