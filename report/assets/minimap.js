/* The whole recording in one line: every step with its parts, the findings, and the span in
 * view. */

class Minimap {
    constructor(data, canvas, timeline, go) {
        Object.assign(this, {data, canvas, timeline, go});
        let down = false;
        const at = e => {
            const box = canvas.getBoundingClientRect();
            this.go(this.from + (e.clientX - box.left) / box.width * (this.to - this.from));
        };
        /* With a window, only the window is shown. */
        const s = data.steps, margin = s.length[0] * 0.05;
        this.from = data.unit === 'window' && margin ? s.start[0] - margin : data.from;
        this.to = data.unit === 'window' && margin ? s.start[0] + s.until[0] + margin : data.to;
        canvas.addEventListener('pointerdown', e => {
            down = true;
            canvas.setPointerCapture(e.pointerId);
            at(e);
        });
        canvas.addEventListener('pointermove', e => down && at(e));
        canvas.addEventListener('pointerup', () => { down = false; });
    }

    x(ns) {
        return (ns - this.from) / (this.to - this.from) * this.width;
    }

    draw() {
        const ratio = window.devicePixelRatio || 1, height = 38;
        this.width = Math.max(this.canvas.parentElement.clientWidth, 50);
        this.canvas.width = Math.round(this.width * ratio);
        this.canvas.height = Math.round(height * ratio);
        this.canvas.style.height = height + 'px';
        const c = this.canvas.getContext('2d');
        c.setTransform(ratio, 0, 0, ratio, 0, 0);
        /* A window would be one bar: the GPU's idle times in it tell more. */
        const {steps, unit, gaps, all} = this.data;
        if (!steps.start.length || (unit === 'window' && gaps.start.length && all)) this.drawGaps(c, height);
        else this.drawSteps(c, height);
        hatch(c, this.timeline.unrecorded, ns => this.x(ns), this.width, 5, height - 5, this.timeline.ink, 7);
        c.fillStyle = this.timeline.accent;
        for (const f of this.data.findings) c.fillRect(this.x(f.start), 0, Math.max(this.x(f.start + f.length) - this.x(f.start), 2), 3);
        this.drawView(c, height);
    }

    drawSteps(c, height) {
        const s = this.data.steps, parts = this.data.partTitles.length;
        let last = -1;
        for (let i = 0; i < s.start.length; i++) {
            const from = this.x(s.start[i]), next = i + 1 < s.start.length ? Math.min(s.start[i + 1], s.start[i] + s.until[i]) : s.start[i] + s.length[i], to = this.x(next);
            if (to < last + 0.7) continue;
            last = to;
            c.globalAlpha = s.used[i] ? 1 : 0.4;
            let y = height;
            for (let p = 0; s.parts.length && p < parts; p++) {
                const h = s.parts[i * parts + p] / s.length[i] * (height - 5);
                if (!(h > 0)) continue;
                y -= h;
                c.fillStyle = this.timeline.partColor[p];
                c.fillRect(from, y, Math.max(to - from - (to - from > 3), 0.7), h);
            }
            if (!s.parts.length) {
                c.fillStyle = this.timeline.partColor[0];
                c.fillRect(from, 5, Math.max(to - from - 1, 0.7), height - 5);
            }
        }
        c.globalAlpha = 1;
    }

    drawGaps(c, height) {
        const g = this.data.gaps;
        /* Without a GPU there is only one kind. */
        c.fillStyle = g.start.length ? this.timeline.partColor[0] : this.timeline.line;
        const [start, end] = this.data.unit === 'window' ? [this.data.steps.start[0], this.data.steps.start[0] + this.data.steps.until[0]] : [this.from, this.to];
        c.fillRect(this.x(start), 5, this.x(end) - this.x(start), height - 5);
        for (let i = 0; i < g.start.length; i++) {
            c.fillStyle = this.timeline.partColor[g.part[i]];
            c.fillRect(this.x(g.start[i]), 5, this.x(g.start[i] + g.length[i]) - this.x(g.start[i]), height - 5);
        }
        const {from, to} = this.timeline.unrecorded;
        from.forEach((at, k) => c.clearRect(this.x(at), 5, this.x(to[k]) - this.x(at), height - 5));
    }

    drawView(c, height) {
        const [from, to] = this.timeline.view, left = Math.max(this.x(from), 0), right = Math.min(this.x(to), this.width);
        c.fillStyle = this.timeline.card;
        c.globalAlpha = 0.62;
        c.fillRect(0, 3, left, height);
        c.fillRect(right, 3, this.width - right, height);
        c.globalAlpha = 1;
        c.strokeStyle = this.timeline.ink;
        c.lineWidth = 2;
        c.strokeRect(left + 1, 4, Math.max(right - left - 2, 2), height - 5);
    }
}
