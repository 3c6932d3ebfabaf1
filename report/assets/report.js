/* The behaviour of the page: choosing a step, and the elements around the timeline. */

function byId(id) {
    return document.getElementById(id);
}

function element(tag, text, className) {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
}

async function unpack(base64) {
    const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return JSON.parse(await new Response(stream).text());
}

/* How much of a step is shown, in lengths of the step, if its work on the GPU ends later. */
const AHEAD = 1.6;

/* Everything that depends on the chosen step. */
class Page {
    constructor(data) {
        this.data = data;
        this.step = data.chosen;
        this.timeline = new Timeline(data, byId('canvas'), {
            hovered: (hit, x, y) => this.hover(hit, x, y),
            picked: hit => this.pick(hit),
            selected: span => this.select(span),
            viewed: () => this.describe(),
            leave: ns => this.choose(this.stepAt(ns)),
            lanes: () => { this.lanes(); this.describe(); },
            match: by => this.match(by),
            recolor: () => this.redraw(),
            step: by => this.turn(by),
        });
        this.minimap = new Minimap(data, byId('minimap'), this.timeline, ns => this.go(ns));
        this.after = new AfterChange(this);
        this.strip();
        this.buttons();
        this.lanes();
        this.choose(this.step);
    }

    stepAt(ns) {
        return Math.max(upperBound(this.data.steps.start, ns) - 1, 0);
    }

    /* The time on the GPU that the parts of a step divide. It is later than the step if the host
     * runs ahead. */
    gpuSpan(step) {
        const s = this.data.steps, end = s.start[step] + s.until[step];
        return [end - s.length[step], end];
    }

    /* Of the steps whose GPU time lies in a span: how many have their events on the page, and how
     * many do not. */
    coverage(from, to) {
        const s = this.data.steps, [first, last] = this.data.window, out = [0, 0];
        if (this.data.all) return [1, 0];
        if (last) return from < last && to > first ? [1, from < first || to > last] : [0, 1];
        for (let i = 0; i < s.start.length; i++) {
            const [start, end] = this.gpuSpan(i);
            if (start < to && end > from) out[s.detail[i] ? 0 : 1]++;
        }
        return out;
    }

    /* The step to choose for a span: by its GPU time, unless the page has only the host's
     * events. */
    stepOf(from, to) {
        const at = (from + to) / 2, host = this.stepAt(at), {start, detail} = this.data.steps;
        const gpu = start.findIndex((_, i) => this.gpuSpan(i)[0] <= at && at < this.gpuSpan(i)[1]);
        return gpu < 0 || detail[host] || !detail[gpu] ? host : gpu;
    }

    /* Moves the view to a moment of the run, and chooses the step in which it lies. */
    go(ns) {
        const [from, to] = this.timeline.view, half = (to - from) / 2;
        const {unrecorded} = this.timeline, k = unrecorded.at(ns), block = unrecorded.blockAt(ns);
        if (this.stepCount() && !this.whole && k >= 0 && block >= 0) this.openNumber(unrecorded.blocks.first[block]);
        else if (this.stepCount() && !this.whole && (this.stretch || this.stepAt(ns) !== this.step)) this.choose(this.stepAt(ns));
        else this.timeline.setView(ns - half, ns + half);
    }

    redraw() {
        this.timeline.readColors();
        this.timeline.draw();
        this.minimap.draw();
    }

    wholeRun() {
        this.whole = true;
        this.stretch = null;
        this.after.drop();
        this.timeline.setHome(this.data.from, this.data.to, 0);
        this.details();
    }

    stepCount() {
        return this.data.steps.start.length;
    }

    choose(step) {
        const s = this.data.steps;
        if (!this.stepCount()) {
            this.wholeRun();
            return;
        }
        this.whole = false;
        this.stretch = null;
        this.step = Math.min(Math.max(step, 0), this.stepCount() - 1);
        this.after.drop();
        const start = s.start[this.step];
        const until = Math.min(Math.max(s.length[this.step], s.until[this.step]), AHEAD * s.length[this.step]);
        const margin = until * 0.02;
        const [from, to] = this.data.window;
        if (to && this.step === this.data.chosen) this.timeline.setHome(from, to, 0);
        else this.timeline.setHome(start - margin, start + until + margin, margin);
        this.details();
        this.mark();
        this.bar();
    }

    /* Turns the strip into a slider over the steps. */
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
            this.openNumber(this.numberAt((e.clientX - box.left) / box.width * 1000));
        });
        strip.addEventListener('keydown', e => {
            const by = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10,
                        Home: -Infinity, End: Infinity}[e.key];
            if (!by) return;
            e.preventDefault();
            if (Math.abs(by) === 1) this.turn(by);
            else this.choose(by === Infinity ? this.stepCount() - 1 : by === -Infinity ? 0 : this.step + by);
        });
    }

    /* Where a recorded step stands on the strip, in 1/1000 of it. */
    place(i) {
        const {width, narrow} = byId('strip').dataset;
        return i < 0 ? -width : i * width + (this.data.steps.number[i] - 1 - i) * narrow;
    }

    /* The number of the step at a place of the strip. */
    numberAt(x) {
        const {width, narrow} = byId('strip').dataset, {number} = this.data.steps;
        let low = 0, high = number.length;
        while (low < high) {
            const mid = (low + high) >> 1;
            if (this.place(mid) <= x) low = mid + 1;
            else high = mid;
        }
        const past = x - this.place(low - 1) - width;
        return past < 0 || !(narrow > 0) ? number[low - 1] : (low ? number[low - 1] : 0) + 1 + Math.floor(past / narrow);
    }

    mark() {
        const strip = byId('strip'), n = this.stepCount(), s = this.data.steps;
        if (!strip) return;
        const {width, narrow} = strip.dataset, {stretch} = this, before = stretch && upperBound(s.number, stretch.first) - 1;
        const left = stretch ? this.place(before) + Number(width) + (stretch.first - 1 - (before < 0 ? 0 : s.number[before])) * narrow : this.place(this.step);
        this.marker.style.left = left / 10 + '%';
        this.marker.style.width = (stretch ? (stretch.last - stretch.first + 1) * narrow : width) / 10 + '%';
        strip.setAttribute('aria-valuenow', this.step);
        if (stretch) {
            strip.setAttribute('aria-valuetext', this.unrecordedText());
            return;
        }
        strip.setAttribute('aria-valuetext', 'step ' + s.number[this.step] + (s.exact[this.step] ? ', ' : ', about ') + formatTime(s.length[this.step]));
    }

    bar() {
        const place = byId('chosenbar'), parts = this.data.steps.parts, n = this.data.partTitles.length;
        if (!place || !parts.length) return;
        if (this.stretch) {
            place.replaceChildren(element('p', this.unrecordedText() + '.', 'dim'));
            return;
        }
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
        byId('prev').addEventListener('click', () => this.turn(-1));
        byId('next').addEventListener('click', () => this.turn(1));
        byId('goto').addEventListener('change', ({target}) => target.value && this.openNumber(Number(target.value)));
        byId('run').addEventListener('click', () => this.wholeRun());
        byId('gpuwork').addEventListener('click', () => this.showGpuWork());
        byId('fit').addEventListener('click', () => this.stepCount() && !this.stretch ? this.choose(this.step) : this.timeline.fit());
        byId('zoomin').addEventListener('click', () => this.timeline.zoom(0.5));
        byId('zoomout').addEventListener('click', () => this.timeline.zoom(2));
        byId('find').addEventListener('input', e => {
            this.timeline.search(e.target.value.trim());
            this.countMatches();
        });
        byId('find').addEventListener('keydown', e => {
            if (e.key !== 'Enter') return;
            e.preventDefault();
            this.match(e.shiftKey ? -1 : 1);
        });
        byId('findnext').addEventListener('click', () => this.match(1));
        byId('findlast').addEventListener('click', () => this.match(-1));
        for (const button of document.querySelectorAll('button.zoom'))
            button.addEventListener('click', ({currentTarget: {dataset: d}}) => this.show(Number(d.from), Number(d.to), d.step && Number(d.step)));
    }

    match(by) {
        this.timeline.nextMatch(by);
        this.countMatches();
    }

    countMatches() {
        const {find, match, matches} = this.timeline;
        byId('found').textContent = !find ? '' : match >= 0 ? match + 1 + ' of ' + matches.length : matches.length + ' on this page';
    }

    /* The rows as a list, for users who cannot click on the canvas. */
    lanes() {
        const list = byId('lanelist'), focused = document.activeElement.id;
        list.replaceChildren(...this.data.rows.map((row, k) => {
            const item = element('li', row.name + ': ');
            for (const [what, word] of [['open', 'unfolded'], ['pinned', 'pinned']]) {
                const label = element('label'), box = element('input');
                box.type = 'checkbox';
                box.id = 'lane-' + what + k;
                box.checked = row[what];
                box.addEventListener('change', () => this.timeline.toggle(row, what));
                label.append(box, ' ' + word);
                item.append(label, ' ');
            }
            return item;
        }));
        if (focused.startsWith('lane-')) byId(focused).focus();
    }

    /* Zooms to a span and its surroundings; called by buttons elsewhere on the page. */
    show(from, to, step) {
        const margin = Math.max((to - from) * 0.5, 2000);
        this.choose(step ?? this.stepOf(from, to));
        this.timeline.reach(from - margin, to + margin);
        this.timeline.setView(from - margin, to + margin);
        this.timeline.selection = [from, to];
        this.timeline.draw();
        this.select([from, to]);
        byId('timeline').scrollIntoView();
        byId('canvas').focus({preventScroll: true});
    }

    describe() {
        const [from, to] = this.timeline.view, s = this.data.steps, lanes = new Set(this.timeline.lines.map(l => l.row)).size, frame = byId('frame');
        const name = !this.stepCount() ? 'gpuprof found no steps; the whole recording'
            : this.whole ? 'The whole run, ' + this.count(this.data.run) + (this.data.run > s.start.length ? ', ' + s.start.length + ' of them recorded' : '')
            : this.stretch ? this.unrecordedText()
            : (this.data.unit === 'window' ? 'The window' : 'Step ' + s.number[this.step]) + (s.used[this.step] ? '' : ' (not used)') + (s.exact[this.step] ? ', ' : ', about ') + formatTime(s.length[this.step]);
        const single = !this.whole && !this.stretch, unknown = this.timeline.unrecorded.within(Math.max(from, this.data.from), Math.min(to, this.data.to));
        const some = unknown > 0 ? unknown < to - from ? ', of which ' + formatTime(unknown) + ' not recorded' : ', not recorded' : '';
        byId('nearest').replaceChildren(...this.stretch ? [this.nearestButton(this.stretch.first)] : []);
        byId('gpuwork').hidden = !single || !this.runsLater();
        byId('where').textContent = name + '; in view ' + formatTime(to - from) + some + '.' + (this.stretch ? '' : this.lacks()) +
            (!single || !this.runsLater() ? '' : ' The GPU does its work ' + this.gpuSpan(this.step).map(at => formatTime(at - s.start[this.step])).join(' to ') + ' after its start.') +
            (frame.scrollHeight > frame.clientHeight + 20 ? ' ' + lanes + ' lanes: scroll to see all.' : '');
        if (this.minimap) this.minimap.draw();
    }

    count(n) {
        const {unit} = this.data;
        return n + ' ' + unit + (n === 1 ? '' : unit.endsWith('ch') ? 'es' : 's');
    }

    /* Says which events of the view are not on the page. */
    lacks() {
        const {steps: {detail}, window: [first, last], chosen, all} = this.data;
        if (!this.stepCount() || all) return '';
        const there = detail.filter(Boolean).length;
        if (last) return this.whole || this.step === chosen ? ' It has more events than fit on a page: the page shows the first ' + formatTime(last - first) + '.'
            : ' Its single events are not on this page.';
        if (this.whole) return there < detail.length ? ' The page has the single events of ' + this.count(there) + '.' : '';
        return detail[this.step] ? '' : ' This page does not contain its single events, only those of the steps around the median.';
    }

    /* True if the host runs so far ahead that the view of the step ends before its work on the GPU
     * does. */
    runsLater() {
        const s = this.data.steps;
        return s.detail[this.step] && s.until[this.step] > AHEAD * s.length[this.step];
    }

    showGpuWork() {
        const [from, to] = this.gpuSpan(this.step), margin = (to - from) * 0.02;
        this.timeline.reach(from - margin, to + margin);
        this.timeline.setView(from - margin, to + margin);
    }
}

Object.assign(Page.prototype, pageDetails, pageUnrecorded);

/* For printing, everything is unfolded and the timeline drawn in the light colours; afterwards all
 * is restored. */
let unfolded = [];
function print(on) {
    if (on) unfolded = [...document.querySelectorAll('details:not([open]):not(.lanes)')];
    unfolded.forEach(d => { d.open = on; });
    document.documentElement.classList.toggle('printing', on);
    window.gpuprofPage?.timeline.forPaper(on);
    window.gpuprofPage?.redraw();
}

async function start() {
    document.documentElement.classList.add('live-page');
    document.querySelectorAll('table.sortable').forEach(makeSortable);
    document.querySelectorAll('.heatmap').forEach(makeHeat);
    document.querySelectorAll('.flame:not(:empty)').forEach(frame => new Flame(frame));
    if (byId('kerneltable')) makeFilter(byId('kernelfilter'), byId('kerneltable'), byId('kernelcount'));
    document.addEventListener('copy', copyWhole);
    window.addEventListener('beforeprint', () => print(true));
    window.addEventListener('afterprint', () => print(false));
    if (!byId('canvas')) { /* no record that a timeline could show */
        window.gpuprofReady = performance.now();
        return;
    }
    const data = await unpack(byId('data').textContent.trim());
    unpackSteps(data.steps, data.from);
    window.gpuprofPage = new Page(data);
    window.gpuprofReady = performance.now();
}

start().catch(e => {
    const where = byId('where');
    if (where) where.textContent = 'This browser could not read the timeline (' + e.message + '); the rest of the page is complete.';
});
