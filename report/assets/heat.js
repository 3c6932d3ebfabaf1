/* The heat maps of the ranks: shows the rank and column under the pointer, and how late that rank
 * was. */

/* Lateness in ns at each pixel. The picture has it in 255 levels, with an exponent of 0.7. */
function heatValues(image) {
    const canvas = element('canvas');
    canvas.width = image.naturalWidth;
    canvas.height = image.naturalHeight;
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data, most = Number(image.dataset.most);
    return (row, column) => Math.pow(pixels[4 * (row * canvas.width + column) + 3] / 255, 1 / 0.7) * most;
}

/* The number of a step or a collective by its index: "index:number" of each behind a gap. */
function heatNumber(d, index) {
    const [from, number] = d.numbers.split(' ').map(jump => jump.split(':').map(Number)).findLast(([i]) => i <= index);
    return number + index - from;
}

function describeHeat(image, value, x, y) {
    const d = image.dataset, rows = image.naturalHeight, columns = image.naturalWidth;
    const row = Math.min(rows - 1, Math.max(0, Math.floor(y * rows))), column = Math.min(columns - 1, Math.max(0, Math.floor(x * columns)));
    const ranks = d.ranks.split(' '), each = Math.ceil(ranks.length / rows), from = row * each, to = Math.min(ranks.length, from + each) - 1;
    const per = Number(d.per), first = heatNumber(d, column * per), last = heatNumber(d, Math.min(Number(d.of), (column + 1) * per) - 1);
    const late = value(row, column);
    return (from === to ? 'rank ' + ranks[from] : 'ranks ' + ranks[from] + ' to ' + ranks[to]) + ', ' + d.column + ' ' +
        (first === last ? first : first + ' to ' + last) + ': ' + (late > 0 ? formatTime(late) + ' late' : 'in time');
}

function makeHeat(image) {
    const output = image.closest('figure').querySelector('output');
    let value = null;
    image.addEventListener('pointermove', e => {
        const box = image.getBoundingClientRect();
        value = value || heatValues(image);
        output.textContent = describeHeat(image, value, (e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height);
    });
    image.addEventListener('pointerleave', () => { output.textContent = ''; });
}
