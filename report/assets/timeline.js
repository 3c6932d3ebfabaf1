/* The timeline of one step on a canvas. Events lie in tracks: per row, and per depth of nesting, so
 * that the events of a track never overlap and drawing one costs a binary search plus one rectangle
 * per visible pixel, however many events there are. Times are nanoseconds as numbers. */

/* Splits the events of a row (sorted by start, longest first) into tracks by depth. */
function makeTracks(row) {
    const tracks = [], ends = [];
    for (let i = 0; i < row.start.length; i++) {
        const start = row.start[i], end = start + row.length[i];
        while (ends.length && ends[ends.length - 1] <= start) ends.pop();
        if (row.kind === 'gpu') { /* overlapping work of a stream: the next free line */
            let k = 0;
            while (k < tracks.length && tracks[k].lastEnd > start) k++;
            ends.length = k;
        }
        const depth = ends.length;
        if (!tracks[depth]) tracks[depth] = {index: [], starts: [], lastEnd: 0};
        /* an end that hangs over its parent would hide what follows on this line */
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
        this.launches = new Map();
        for (const row of data.rows) {
            undelta(row.start);
            undelta(row.launch);
            makeTracks(row);
            if (row.kind === 'host')
                row.launch.forEach((number, i) => number && this.launches.set(number, {row, i}));
        }
        undelta(data.gaps.start);
        this.readColors();
        this.layout();
        this.listen();
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
    }

    color(cls) {
        const parts = this.partColor.length; /* classes behind the parts: range, library call, API call */
        return cls < parts ? this.partColor[cls] : this.hostColor[cls - parts];
    }

    textColor(cls) {
        const host = cls - this.partColor.length;
        return host === 0 || host === 1 ? this.onLight : this.onPart;
    }

    /* Rows that have anything in the view of the whole step, GPU first. */
    layout() {
        const [from, to] = this.home;
        let y = 22;
        this.lines = [];
        this.gapLine = y + 14;
        y += this.data.gaps.start.length ? 36 : 6;
        const rows = this.data.rows.filter(row => {
            const i = upperBound(row.start, to);
            return i > 0 && row.start[0] < to && row.start.some((s, k) => s < to && s + row.length[k] > from);
        });
        for (const row of rows) {
            this.lines.push({row, label: true, y});
            y += 15;
            for (const track of row.tracks) {
                this.lines.push({row, track, y});
                y += 17;
            }
            y += 5;
        }
        this.height = Math.max(y + 4, 90);
        this.resize();
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

    draw() {
        const c = this.context;
        c.clearRect(0, 0, this.width, this.height);
        c.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
        c.textBaseline = 'middle';
        this.drawScale(c);
        this.drawGaps(c);
        for (const line of this.lines)
            if (line.label) this.drawLabel(c, line);
            else this.drawTrack(c, line);
        this.drawSteps(c);
        this.drawPicked(c);
        this.drawSelection(c);
    }

    drawScale(c) {
        const span = this.view[1] - this.view[0], power = 10 ** Math.floor(Math.log10(span / 6));
        const unit = [1, 2, 5, 10].map(k => k * power).find(u => span / u <= 8) || 10 * power;
        const zero = this.home[0] + (this.offset || 0);
        c.fillStyle = this.dim;
        c.strokeStyle = this.line;
        c.beginPath();
        for (let t = Math.ceil((this.view[0] - zero) / unit) * unit; t + zero < this.view[1]; t += unit) {
            const x = Math.round(this.x(t + zero)) + 0.5;
            c.moveTo(x, 16);
            c.lineTo(x, this.height);
            c.fillText(t === 0 ? '0' : formatTime(t), x + 3, 8);
        }
        c.stroke();
    }

    drawLabel(c, line) {
        c.fillStyle = this.dim;
        c.fillText(line.row.name, 4, line.y + 8);
    }

    drawGaps(c) {
        const g = this.data.gaps, y = this.gapLine;
        if (!g.start.length) return; /* no GPU was used */
        c.fillStyle = this.dim;
        c.fillText('GPU idle, by cause', 4, y - 7);
        let last = -1;
        for (let i = Math.max(0, upperBound(g.start, this.view[0]) - 1); i < g.start.length; i++) {
            if (g.start[i] > this.view[1]) break;
            const left = Math.max(this.x(g.start[i]), 0);
            const right = Math.min(this.x(g.start[i] + g.length[i]), this.width);
            if (right < left || right < last + 0.5) continue;
            c.fillStyle = this.partColor[g.part[i]];
            c.fillRect(left, y, Math.max(right - left, 1), 14);
            this.fitText(c, this.data.partTitles[g.part[i]], left, right, y + 7.5, this.onPart);
            last = right;
        }
    }

    fitText(c, text, left, right, y, color) {
        const room = Math.floor((right - left - 6) / 6.65);
        if (room < 3) return;
        c.fillStyle = color;
        c.fillText(text.length > room ? text.slice(0, room - 1) + '\u2026' : text, left + 3, y);
    }

    drawTrack(c, line) {
        const {row, track, y} = line, starts = track.starts;
        let k = Math.max(0, upperBound(starts, this.view[0]) - 1);
        while (k < starts.length && starts[k] < this.view[1]) {
            const i = track.index[k], left = Math.max(this.x(row.start[i]), 0);
            const right = Math.min(this.x(row.start[i] + row.length[i]), this.width), width = right - left;
            if (right < 0) {
                k++;
                continue;
            }
            const name = this.data.names[row.text[i]];
            const hit = this.find && name.toLowerCase().includes(this.find);
            c.globalAlpha = this.find && !hit ? 0.25 : 1;
            c.fillStyle = this.color(row.class[i]);
            c.fillRect(left, y, Math.max(width > 3 ? width - 0.5 : width, 0.8), 15);
            if (width > 24) this.fitText(c, name, left, right, y + 8, this.textColor(row.class[i]));
            /* of what begins within this pixel only the last can reach beyond it */
            k = width < 1 && !this.find ? Math.max(k + 1, upperBound(starts, this.ns(left + 0.8)) - 1) : k + 1;
        }
        c.globalAlpha = 1;
    }

    drawSteps(c) {
        const s = this.data.steps;
        c.strokeStyle = this.dim;
        c.setLineDash([3, 3]);
        c.beginPath();
        for (let i = upperBound(s.start, this.view[0]); i < s.start.length && s.start[i] < this.view[1]; i++) {
            const x = Math.round(this.x(s.start[i])) + 0.5;
            c.moveTo(x, 0);
            c.lineTo(x, this.height);
        }
        c.stroke();
        c.setLineDash([]);
    }

    lineOf(row, i) {
        return this.lines.find(l => l.row === row && l.track && l.track.index.includes(i));
    }

    drawPicked(c) {
        if (!this.picked) return;
        const {row, i} = this.picked, line = this.lineOf(row, i);
        if (!line) return;
        const box = (r, k, l) => c.strokeRect(this.x(r.start[k]), l.y - 1, Math.max(this.x(r.start[k] + r.length[k]) - this.x(r.start[k]), 2), 17);
        c.strokeStyle = this.ink;
        c.lineWidth = 2;
        box(row, i, line);
        const launch = row.kind === 'gpu' && this.launches.get(row.launch[i]);
        const from = launch && this.lineOf(launch.row, launch.i);
        if (from) {
            box(launch.row, launch.i, from);
            c.beginPath();
            c.moveTo(this.x(launch.row.start[launch.i]), from.y);
            c.lineTo(this.x(row.start[i]), line.y + 15);
            c.stroke();
        }
        c.lineWidth = 1;
    }

    drawSelection(c) {
        if (!this.selection) return;
        const left = this.x(this.selection[0]), right = this.x(this.selection[1]);
        c.fillStyle = this.accent;
        c.globalAlpha = 0.16;
        c.fillRect(left, 0, right - left, this.height);
        c.globalAlpha = 1;
        c.strokeStyle = this.accent;
        c.strokeRect(left + 0.5, 0.5, right - left, this.height - 1);
    }

    /* What is at a point of the canvas: an event, a gap or nothing. */
    at(x, y) {
        const ns = this.ns(x), near = (this.view[1] - this.view[0]) / this.width * 2;
        if (y >= this.gapLine && y < this.gapLine + 15) {
            const g = this.data.gaps, i = upperBound(g.start, ns) - 1;
            return i >= 0 && g.start[i] + g.length[i] >= ns ? {gap: i} : null;
        }
        const line = this.lines.find(l => l.track && y >= l.y && y < l.y + 17);
        if (!line) return null;
        const k = upperBound(line.track.starts, ns + near) - 1;
        if (k < 0) return null;
        const i = line.track.index[k], row = line.row;
        return row.start[i] + row.length[i] + near >= ns ? {row, i} : null;
    }

    setView(from, to) {
        const least = 200, span = Math.max(to - from, least), middle = (from + to) / 2;
        this.view = [middle - span / 2, middle + span / 2];
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

    /* Sums of a span: GPU time by class and idle time by cause, clipped to the span. */
    sums(from, to) {
        const out = {span: to - from, busy: Array(this.partColor.length).fill(0), count: 0};
        const clip = (start, length) => Math.max(0, Math.min(start + length, to) - Math.max(start, from));
        for (const row of this.data.rows) {
            if (row.kind !== 'gpu') continue;
            for (let i = 0; i < row.start.length; i++) {
                const ns = clip(row.start[i], row.length[i]);
                out.busy[row.class[i]] += ns;
                out.count += ns > 0;
            }
        }
        const g = this.data.gaps;
        for (let i = 0; i < g.start.length; i++) out.busy[g.part[i]] += clip(g.start[i], g.length[i]);
        return out;
    }

    search(text) {
        this.find = text.toLowerCase();
        let n = 0;
        if (this.find) {
            const hits = this.data.names.map(name => name.toLowerCase().includes(this.find));
            for (const row of this.data.rows)
                for (let i = 0; i < row.start.length; i++)
                    n += hits[row.text[i]] && row.start[i] < this.home[1] && row.start[i] + row.length[i] > this.home[0];
        }
        this.draw();
        return n;
    }

    listen() {
        const c = this.canvas;
        let down = null;
        const where = e => {
            const box = c.getBoundingClientRect();
            return [e.clientX - box.left, e.clientY - box.top];
        };
        c.addEventListener('wheel', e => {
            if (!e.ctrlKey && !e.metaKey && document.activeElement !== c) return;
            e.preventDefault();
            if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.move(Math.sign(e.deltaX) * 0.05);
            else this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.ns(where(e)[0]));
        }, {passive: false});
        c.addEventListener('pointerdown', e => {
            if (e.button) return;
            down = where(e);
            c.setPointerCapture(e.pointerId);
        });
        c.addEventListener('pointermove', e => {
            const [x, y] = where(e);
            if (down && Math.abs(x - down[0]) > 4) {
                this.selection = [this.ns(Math.min(x, down[0])), this.ns(Math.max(x, down[0]))];
                this.draw();
            } else if (!down) {
                this.callbacks.hovered(this.at(x, y));
            }
        });
        c.addEventListener('pointerup', e => {
            if (!down) return;
            const [x, y] = where(e), dragged = Math.abs(x - down[0]) > 4;
            down = null;
            if (dragged) {
                this.callbacks.selected(this.selection);
                return;
            }
            const hit = this.at(x, y);
            this.selection = null;
            this.picked = hit && hit.row ? hit : null;
            this.draw();
            this.callbacks.picked(hit);
        });
        c.addEventListener('dblclick', e => {
            const hit = this.at(...where(e));
            if (hit && hit.row) this.around(hit.row.start[hit.i], hit.row.length[hit.i]);
        });
        c.addEventListener('keydown', e => this.key(e));
        window.addEventListener('resize', () => this.resize());
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
            this.readColors();
            this.draw();
        });
    }

    around(start, length) {
        this.setView(start - length, start + 2 * length);
    }

    key(e) {
        const actions = {
            w: () => this.zoom(0.7), s: () => this.zoom(1 / 0.7), a: () => this.move(-0.2), d: () => this.move(0.2),
            f: () => this.selection ? this.setView(...this.selection) : this.fit(),
            ArrowLeft: () => this.callbacks.step(-1), ArrowRight: () => this.callbacks.step(1),
            Escape: () => { this.selection = this.picked = null; this.draw(); this.callbacks.picked(null); },
        };
        if (e.ctrlKey || e.metaKey || e.altKey || !actions[e.key]) return;
        e.preventDefault();
        actions[e.key]();
    }
}
