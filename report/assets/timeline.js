/* The timeline of one step on a canvas. Events lie in tracks, one for each depth of nesting in a
 * row. So the events of a track never overlap, and drawing it costs a binary search and one
 * rectangle per visible pixel, however many events there are. Times are numbers of nanoseconds. */

/* Splits the events of a row (sorted by start, longest first) into tracks by depth. */
function makeTracks(row) {
    const tracks = [], ends = [];
    for (let i = 0; i < row.start.length; i++) {
        const start = row.start[i], end = start + row.length[i];
        while (ends.length && ends[ends.length - 1] <= start) ends.pop();
        if (row.kind === 'gpu') { /* overlapping work of a stream goes to the next free track */
            let k = 0;
            while (k < tracks.length && tracks[k].lastEnd > start) k++;
            ends.length = k;
        }
        const depth = ends.length;
        if (!tracks[depth]) tracks[depth] = {index: [], starts: [], lastEnd: 0};
        /* If an event ended after its parent, lastEnd keeps later ones off this track. */
        tracks[depth].index.push(i);
        tracks[depth].starts.push(start);
        tracks[depth].lastEnd = end;
        ends.push(end);
    }
    row.tracks = tracks;
}

class Timeline {
    constructor(data, canvas, callbacks) {
        this.data = data;
        this.canvas = canvas;
        this.callbacks = callbacks;
        this.view = [data.from, data.to];
        this.home = this.view;
        this.selection = null;
        this.picked = null;
        this.find = '';
        this.matches = [];
        /* Index in data.after of the change whose replayed step is drawn; -1: none. */
        this.after = -1;
        this.unrecorded = new Unrecorded(data);
        this.outline = this.outlines();
        this.launches = new Map(); /* number of a launch: its call */
        this.work = new Map();     /* number of a launch: the work that it put on the GPU */
        for (const row of data.rows) {
            unpackEvents(row);
            makeTracks(row);
            row.open = true;
            row.pinned = false;
            row.launch.forEach((number, i) => number && this.join(number, {row, i}));
        }
        undelta(data.gaps.start);
        this.readColors();
        this.layout();
        this.listen();
    }

    join(number, event) {
        if (event.row.kind === 'host') this.launches.set(number, event);
        else if (this.work.has(number)) this.work.get(number).push(event);
        else this.work.set(number, [event]);
    }

    /* The events at the other ends of an event's arrows: its launch, or the work that it
     * launched. */
    partners(event) {
        const number = event.row.launch[event.i];
        if (!number) return [];
        const launch = this.launches.get(number);
        return event.row.kind === 'host' ? this.work.get(number) || [] : launch ? [launch] : [];
    }

    /* Ranges and library calls around a host event, the innermost first. */
    around(event) {
        const {row, i} = event, at = row.start[i], out = [], api = this.partColor.length + 2;
        for (const track of row.tracks) {
            const k = upperBound(track.starts, at) - 1, j = k < 0 ? -1 : track.index[k];
            if (j < 0 || j === i || row.class[j] === api) continue;
            if (row.start[j] + row.length[j] >= at + row.length[i]) out.push(j);
        }
        return out.sort((a, b) => row.length[a] - row.length[b]);
    }

    readColors() {
        const style = getComputedStyle(document.documentElement);
        const get = name => style.getPropertyValue(name).trim();
        this.partColor = this.data.partTitles.map((_, i) => get('--p' + i));
        this.hostColor = [get('--c-range'), get('--c-call'), get('--c-api')];
        this.ink = get('--ink');
        this.dim = get('--dim');
        this.card = get('--card');
        this.line = get('--line');
        this.accent = get('--accent');
        this.onPart = get('--on-part');
        this.onLight = get('--on-light');
        /* Behind the parts: range, library call, API call. */
        this.colors = [...this.partColor, ...this.hostColor];
        this.pale = this.colors.map(color => mix(color, this.card, 0.25));
    }

    textColor(cls) {
        const host = cls - this.partColor.length;
        return host === 0 || host === 1 ? this.onLight : this.onPart;
    }

    resize() {
        const ratio = window.devicePixelRatio || 1, width = this.canvas.parentElement.clientWidth;
        this.width = Math.max(width, 50);
        this.canvas.style.height = this.height + 'px';
        this.canvas.width = Math.round(this.width * ratio);
        this.canvas.height = Math.round(this.height * ratio);
        this.context = this.canvas.getContext('2d');
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.draw();
    }

    x(ns) {
        return (ns - this.view[0]) / (this.view[1] - this.view[0]) * this.width;
    }

    ns(x) {
        return this.view[0] + x / this.width * (this.view[1] - this.view[0]);
    }

    setView(from, to) {
        const least = 200, {data, home} = this, margin = (data.to - data.from) * 0.05;
        const first = Math.min(data.from - margin, home[0]), last = Math.max(data.to + margin, home[1]);
        const span = Math.min(Math.max(to - from, least), last - first), middle = (from + to) / 2;
        const start = Math.min(Math.max(middle - span / 2, first), last - span);
        this.view = [start, start + span];
        this.draw();
        this.callbacks.viewed(this.view);
    }

    setHome(from, to, offset) {
        this.home = [from, to];
        this.offset = offset;
        this.selection = this.picked = null;
        this.view = [from, to];
        this.layout();
        this.callbacks.viewed(this.view);
    }

    /* Widens the span for which rows are chosen. */
    reach(from, to) {
        const before = this.home[0];
        this.home = [Math.min(before, from), Math.max(this.home[1], to)];
        this.offset += before - this.home[0];
        this.layout();
    }

    zoom(factor, at) {
        const [from, to] = this.view, center = at === undefined ? (from + to) / 2 : at;
        const limit = (this.data.to - this.data.from) * 1.1;
        if ((to - from) * factor > limit) return;
        this.setView(center - (center - from) * factor, center + (to - center) * factor);
    }

    move(share) {
        const by = (this.view[1] - this.view[0]) * share;
        this.setView(this.view[0] + by, this.view[1] + by);
    }

    fit() {
        this.setView(...this.home);
    }

    /* The parts of a span, as far as it was recorded, computed as in the breakdown, on the GPU whose idle times are known. If
     * several operations run at the same time, computing counts before communication, and that
     * before copies. */
    sums(from, to) {
        const g = this.data.gaps, parts = Array(this.partColor.length).fill(0), work = [[], [], []];
        const clip = (start, length) => [Math.max(start, from), Math.min(start + length, to)];
        for (const row of this.data.rows) {
            if (row.kind !== 'gpu' || row.gpu !== g.gpu) continue;
            for (let i = 0; i < row.start.length; i++) {
                const span = clip(row.start[i], row.length[i]);
                if (span[1] > span[0]) work[row.class[i]].push(span);
            }
        }
        let covered = [], before = 0;
        work.forEach((spans, part) => {
            covered = this.unrecorded.without(union(covered.concat(spans)));
            const all = covered.reduce((sum, [start, end]) => sum + end - start, 0);
            parts[part] = all - before;
            before = all;
        });
        for (let i = 0; i < g.start.length; i++) {
            const [start, end] = clip(g.start[i], g.length[i]);
            if (end > start) parts[g.part[i]] += end - start;
        }
        return {span: to - from - this.unrecorded.within(from, to, this.unrecorded.known), parts, count: work.flat().length};
    }

    /* For printing: only the GPU's rows, if there are any, folded if they would fill more than a
     * sheet. */
    forPaper(on) {
        const rows = this.data.rows, sheet = 1.2 * this.width;
        if (on === Boolean(this.paper)) return;
        if (!on) rows.forEach(row => { row.open = this.paper.get(row); });
        this.paper = on ? new Map(rows.map(row => [row, row.open])) : null;
        this.layout();
        if (!on || this.height < sheet) return;
        rows.forEach(row => { row.open = false; });
        this.layout();
    }

    /* Lays out the rows that have events in the span, pinned rows first. The scale, the findings
     * and the causes of idle time are above them and always visible. */
    layout() {
        const [from, to] = this.home, found = this.data.findings.some(f => f.start < to && f.start + f.length > from);
        this.findingLine = found ? 20 : -100;
        let y = found ? 40 : 22;
        this.lines = [];
        this.timesLine = y;
        if (this.unrecorded.from.length) y += 20;
        this.lengthLine = y;
        if (this.data.after[this.after]) y += 36;
        this.gapLine = y + 14;
        y += this.data.gaps.start.length ? 36 : 2;
        this.head = y;
        const shown = row => {
            const i = upperBound(row.start, to);
            return i > 0 && row.start[0] < to && row.start.some((s, k) => s < to && s + row.length[k] > from);
        };
        const gpu = this.paper && this.data.rows.some(row => row.kind === 'gpu' && shown(row));
        const rows = this.data.rows.filter(row => shown(row) && (!gpu || row.kind === 'gpu'));
        for (const row of [...rows.filter(r => r.pinned), ...rows.filter(r => !r.pinned)]) {
            y = this.linesOf(row, y);
            const after = this.afterRow(row, this.after);
            if (after) y = this.linesOf(after, y, shown(after));
            if (row.pinned) this.head = y;
        }
        this.height = Math.max(y + 4, this.unrecorded.from.length ? 140 : 90);
        this.resize();
    }

    /* Adds the lines of a row from `y` on, or only its label. Returns where they end. */
    linesOf(row, y, shown = true) {
        this.lines.push({row, label: true, y, shown});
        y += 15;
        if (!shown) return y + 5;
        for (const track of row.tracks) {
            this.lines.push({row, track, y, height: row.open ? 15 : 6});
            y += row.open ? 17 : 0;
        }
        return y + (row.open ? 5 : 10);
    }

    toggle(row, what) {
        row[what] = !row[what];
        this.layout();
        this.callbacks.lanes();
    }

    lineOf(event) {
        const at = event.row.start[event.i];
        return this.lines.find(l => l.row === event.row && l.track &&
                                    l.track.index[upperBound(l.track.starts, at) - 1] === event.i) ||
               this.lines.find(l => l.row === event.row && l.track && l.track.index.includes(event.i));
    }

    /* How far the frame is scrolled: the head is drawn there, so that it stays visible. */
    scrolled() {
        return Math.min(this.canvas.parentElement.scrollTop, Math.max(0, this.height - this.head));
    }

    /* The y at which a line is drawn. */
    top(line) {
        return line.y < this.head ? line.y + this.scrolled() : line.y;
    }

    /* What is at a point of the canvas: an event, a gap, a finding, a label or nothing. */
    at(x, y) {
        const ns = this.ns(x), near = (this.view[1] - this.view[0]) / this.width * 2;
        const fixed = y < this.scrolled() + this.head, at = fixed ? y - this.scrolled() : y;
        const stretch = this.unrecorded.at(ns), none = stretch >= 0 ? {unrecorded: stretch, ns} : null;
        if (at >= this.gapLine && at < this.gapLine + 15) {
            const g = this.data.gaps, i = upperBound(g.start, ns) - 1;
            return i >= 0 && g.start[i] + g.length[i] >= ns ? {gap: i} : none;
        }
        if (at >= this.findingLine && at < this.findingLine + 16) return this.findingAt(ns, near);
        const line = this.lines.findLast(l => at >= l.y && at < l.y + (l.label ? 15 : l.height + 2) &&
                                              (l.label || this.eventOn(l, ns, near)) && l.y < this.head === fixed);
        if (!line) return none;
        return line.label ? {label: line.row, pin: !line.row.of && x >= 4 + 15 && x < 4 + 45} : this.eventOn(line, ns, near);
    }

    eventOn(line, ns, near) {
        const k = upperBound(line.track.starts, ns + near) - 1, row = line.row;
        if (k < 0) return null;
        const i = line.track.index[k];
        return row.start[i] + row.length[i] + near >= ns ? {row, i} : null;
    }

    findingAt(ns, near) {
        const f = this.data.findings;
        const hits = f.map((_, i) => i).filter(i => ns >= f[i].start - near && ns <= Math.max(f[i].start + f[i].length, f[i].start + 8 * near) + near);
        hits.sort((a, b) => f[a].length - f[b].length);
        return hits.length ? {finding: hits[0]} : null;
    }

    /* Moves the view to an event, wide enough to be seen, and picks it. */
    showEvent(event) {
        const start = event.row.start[event.i], length = event.row.length[event.i];
        if (start < this.home[0] || start > this.home[1]) this.callbacks.leave(start);
        let span = this.view[1] - this.view[0];
        if (length / span * this.width < 6) span = Math.min(span, Math.max(length * 60, 2000));
        if (length > span * 0.8) span = length * 1.5;
        const middle = start + length / 2;
        this.picked = event;
        if (!event.row.open) this.toggle(event.row, 'open');
        this.setView(middle - span / 2, middle + span / 2);
        const line = this.lineOf(event), frame = this.canvas.parentElement;
        if (line && line.y >= this.head && (line.y < frame.scrollTop + this.head || line.y + 20 > frame.scrollTop + frame.clientHeight))
            frame.scrollTop = line.y - frame.clientHeight / 2;
        this.callbacks.picked(event);
    }
}
