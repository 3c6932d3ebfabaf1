/* The page's own behaviour: sortable tables, a filter, the choice of a step, and the timeline. */

function byId(id) {
    return document.getElementById(id);
}

function element(tag, text, className) {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
}

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

async function unpack(base64) {
    const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return JSON.parse(await new Response(stream).text());
}

/* Everything that depends on the chosen step. */
class Page {
    constructor(data) {
        this.data = data;
        this.step = data.chosen;
        this.timeline = new Timeline(data, byId('canvas'), {
            hovered: hit => this.hover(hit),
            picked: hit => this.pick(hit),
            selected: span => this.select(span),
            viewed: () => this.describe(),
            step: by => this.choose(this.step + by),
        });
        this.strip();
        this.buttons();
        this.choose(this.step);
    }

    stepCount() {
        return this.data.steps.start.length;
    }

    choose(step) {
        const s = this.data.steps;
        if (!this.stepCount()) {
            this.timeline.setHome(this.data.from, this.data.to, 0);
            this.describe();
            return;
        }
        this.step = Math.min(Math.max(step, 0), this.stepCount() - 1);
        const start = s.start[this.step];
        const until = Math.min(Math.max(s.length[this.step], s.until[this.step]), 1.6 * s.length[this.step]);
        const margin = until * 0.02;
        const [from, to] = this.data.window;
        if (to && this.step === this.data.chosen) this.timeline.setHome(from, to, 0);
        else this.timeline.setHome(start - margin, start + until + margin, margin);
        this.details();
        this.mark();
        this.bar();
    }

    /* The strip becomes a slider over the steps. */
    strip() {
        const strip = byId('strip');
        if (!strip) return;
        strip.className = 'live';
        strip.tabIndex = 0;
        strip.setAttribute('role', 'slider');
        strip.setAttribute('aria-label', 'chosen step');
        strip.setAttribute('aria-valuemin', 0);
        strip.setAttribute('aria-valuemax', this.stepCount() - 1);
        this.marker = element('div');
        this.marker.id = 'mark';
        strip.append(this.marker);
        strip.addEventListener('click', e => {
            const box = strip.getBoundingClientRect();
            this.choose(Math.floor((e.clientX - box.left) / box.width * this.stepCount()));
        });
        strip.addEventListener('keydown', e => {
            const by = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10,
                        Home: -Infinity, End: Infinity}[e.key];
            if (!by) return;
            e.preventDefault();
            this.choose(by === Infinity ? this.stepCount() - 1 : by === -Infinity ? 0 : this.step + by);
        });
    }

    mark() {
        const strip = byId('strip'), n = this.stepCount(), s = this.data.steps;
        if (!strip) return;
        this.marker.style.left = this.step / n * 100 + '%';
        this.marker.style.width = 100 / n + '%';
        strip.setAttribute('aria-valuenow', this.step);
        strip.setAttribute('aria-valuetext', 'step ' + s.number[this.step] + ', ' + formatTime(s.length[this.step]));
    }

    bar() {
        const place = byId('chosenbar'), parts = this.data.steps.parts, n = this.data.partTitles.length;
        if (!place || !parts.length) return;
        const length = this.data.steps.length[this.step], mine = parts.slice(this.step * n, this.step * n + n);
        const row = element('div', undefined, 'barrow'), bar = element('div', undefined, 'bar');
        const scale = Math.min(1, length / Number(place.dataset.most));
        bar.style.width = scale * 100 + '%';
        bar.setAttribute('role', 'img');
        bar.setAttribute('aria-label', 'step ' + this.data.steps.number[this.step] + ': ' + mine.map((ns, i) => ns > 0 ? this.data.partTitles[i] + ' ' + formatTime(ns) : '').filter(Boolean).join(', '));
        mine.forEach((ns, i) => {
            if (ns <= 0) return;
            const segment = element('i', undefined, 'p' + i), share = ns / length * 100;
            segment.style.width = share + '%';
            segment.title = this.data.partTitles[i] + ': ' + formatTime(ns);
            if (share * scale >= 9) segment.append(element('b', share.toFixed(0) + ' %'));
            bar.append(segment);
        });
        row.append(element('span', 'step ' + this.data.steps.number[this.step], 'barlabel'), element('span', formatTime(length), 'bartime'), bar);
        place.replaceChildren(row);
    }

    buttons() {
        byId('prev').addEventListener('click', () => this.choose(this.step - 1));
        byId('next').addEventListener('click', () => this.choose(this.step + 1));
        byId('fit').addEventListener('click', () => this.timeline.fit());
        byId('zoomin').addEventListener('click', () => this.timeline.zoom(0.5));
        byId('zoomout').addEventListener('click', () => this.timeline.zoom(2));
        byId('find').addEventListener('input', e => {
            const n = this.timeline.search(e.target.value.trim());
            byId('found').textContent = e.target.value.trim() ? n + ' in view of this step' : '';
        });
        for (const button of document.querySelectorAll('button.zoom'))
            button.addEventListener('click', () => this.show(Number(button.dataset.from), Number(button.dataset.to)));
    }

    /* Zooms to a span from elsewhere on the page, with its surroundings. */
    show(from, to) {
        const step = upperBound(this.data.steps.start, (from + to) / 2) - 1;
        if (step >= 0) this.choose(step);
        const margin = Math.max((to - from) * 0.5, 2000);
        this.timeline.setView(from - margin, to + margin);
        this.timeline.selection = [from, to];
        this.timeline.draw();
        this.select([from, to]);
        byId('timeline').scrollIntoView();
        byId('canvas').focus({preventScroll: true});
    }

    describe() {
        const [from, to] = this.timeline.view, s = this.data.steps, where = byId('where');
        if (!this.stepCount()) {
            where.textContent = 'No steps were found; the whole recording, ' + formatTime(to - from) + ' in view.';
            return;
        }
        const shown = s.detail[this.step] ? ''
            : this.data.window.length && this.step === this.data.chosen ? ' It has more events than fit on a page: the first ' + formatTime(this.data.window[1] - this.data.window[0]) + ' are here.'
            : ' Its single events are not on this page; those of the steps around the median are.';
        where.textContent = 'Step ' + s.number[this.step] + (s.used[this.step] ? '' : ' (not used)') + ', ' + formatTime(s.length[this.step]) +
            '; in view ' + formatTime(to - from) + '.' + shown;
    }

    rows(pairs) {
        const table = element('table');
        for (const [name, value] of pairs) {
            const row = table.insertRow();
            row.append(element('th', name), element('td', value));
        }
        byId('details').replaceChildren(table);
    }

    facts(hit) {
        if (hit.gap !== undefined) {
            const g = this.data.gaps;
            return [['GPU idle', this.data.partTitles[g.part[hit.gap]]], ['length', formatTime(g.length[hit.gap])]];
        }
        const {row, i} = hit, start = row.start[i];
        const zero = this.stepCount() ? this.data.steps.start[this.step] : this.data.from;
        const out = [[row.name, this.data.names[row.text[i]]], ['length', formatTime(row.length[i])],
                     ['starts at', formatTime(start - zero) + ' into the step']];
        const launch = row.kind === 'gpu' && this.launches().get(row.launch[i]);
        if (launch)
            out.push(['launched', formatTime(start - launch.row.start[launch.i]) + ' before, by ' +
                      this.data.names[launch.row.text[launch.i]] + ' on ' + launch.row.name]);
        return out;
    }

    launches() {
        return this.timeline.launches;
    }

    hover(hit) {
        const text = hit ? this.facts(hit).map(([name, value]) => name + ': ' + value).join('\n') : '';
        byId('canvas').title = text;
    }

    pick(hit) {
        if (hit) this.rows(this.facts(hit));
        else this.details();
    }

    select(span) {
        const sums = this.timeline.sums(...span);
        const pairs = [['selected', formatTime(sums.span) + ', ' + sums.count + ' GPU operations']];
        sums.busy.forEach((ns, i) => ns > 0 && pairs.push([this.data.partTitles[i], formatTime(ns) + ', ' + (ns / sums.span * 100).toFixed(1) + ' %']));
        this.rows(pairs);
    }

    details() {
        byId('details').replaceChildren();
    }
}

async function start() {
    document.documentElement.classList.add('live-page');
    document.querySelectorAll('table.sortable').forEach(makeSortable);
    if (byId('kerneltable')) makeFilter(byId('kernelfilter'), byId('kerneltable'), byId('kernelcount'));
    document.addEventListener('copy', copyWholeName);
    window.addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(d => { d.open = true; }));
    if (!byId('canvas')) { /* nothing was recorded that a timeline could show */
        window.gpuprofReady = true;
        return;
    }
    const data = await unpack(byId('data').textContent.trim());
    undelta(data.steps.start);
    window.gpuprofPage = new Page(data);
    window.gpuprofReady = true;
}

start().catch(e => {
    const where = byId('where');
    if (where) where.textContent = 'The timeline could not be read by this browser (' + e.message + '); the rest of the page is complete.';
});
