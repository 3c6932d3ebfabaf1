/* Drawing of the timeline. */

Object.assign(Timeline.prototype, {
    draw() {
        const c = this.context, scrolled = this.scrolled();
        c.clearRect(0, 0, this.width, this.height);
        c.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
        c.textBaseline = 'middle';
        this.drawScale(c, this.height);
        this.drawOutlines(c);
        this.drawUnrecorded(c, 16, this.height - 16);
        for (const line of this.lines)
            if (line.y >= this.head) this.drawLine(c, line);
        this.drawSteps(c);
        c.save();
        c.translate(0, scrolled);
        if (scrolled) { /* hides rows that have scrolled below the head */
            c.fillStyle = this.card;
            c.fillRect(0, 0, this.width, this.head);
            c.fillStyle = this.line;
            c.fillRect(0, this.head - 1, this.width, 1);
            this.drawScale(c, this.head);
            this.drawUnrecorded(c, 16, this.head - 17);
        }
        this.drawTimes(c);
        this.drawFindings(c);
        this.drawLengths(c);
        this.drawGaps(c);
        this.drawIdleShares(c);
        for (const line of this.lines)
            if (line.y < this.head) this.drawLine(c, line);
        c.restore();
        this.drawWords(c);
        this.drawOutlineWords(c);
        this.drawPicked(c);
        this.drawSelection(c);
    },

    drawLine(c, line) {
        this.drawPredicted(c, line);
        if (line.label) this.drawLabel(c, line);
        else this.drawTrack(c, line);
    },

    drawScale(c, height) {
        const span = this.view[1] - this.view[0], power = 10 ** Math.floor(Math.log10(span / 6));
        const unit = [1, 2, 5, 10, 20, 50].map(k => k * power).find(u => span / u <= Math.min(8, Math.max(this.width / 85, 1)));
        const zero = this.home[0] + (this.offset || 0);
        c.fillStyle = this.dim;
        c.strokeStyle = this.line;
        c.beginPath();
        for (let t = Math.ceil((this.view[0] - zero) / unit) * unit; t + zero < this.view[1]; t += unit) {
            const x = Math.round(this.x(t + zero)) + 0.5;
            c.moveTo(x, 16);
            c.lineTo(x, height);
            c.fillText(Math.abs(t) < unit / 2 ? '0' : formatTime(t, unit), x + 3, 8);
        }
        c.stroke();
    },

    /* An arrow that folds the row, a dot that pins it, and the row's name. */
    drawLabel(c, line) {
        c.fillStyle = this.dim;
        c.fillText(line.row.open ? '\u25be' : '\u25b8', 4, line.y + 8);
        if (line.row.of) {
            c.fillText(line.row.name + (line.shown ? ' (prediction)' : ' (prediction: not in this view)'), 34, line.y + 8);
            return;
        }
        c.beginPath();
        c.arc(24, line.y + 7.5, 3.5, 0, 7);
        c.strokeStyle = this.dim;
        if (line.row.pinned) c.fill();
        else c.stroke();
        c.fillText(line.row.name + (line.row.pinned ? ' (pinned)' : ''), 34, line.y + 8);
    },

    drawFindings(c) {
        const y = this.findingLine;
        let last = -20;
        const sorted = [...this.data.findings].sort((a, b) => a.start - b.start || a.rank - b.rank);
        sorted.forEach((f, i) => {
            const left = this.x(f.start), right = this.x(f.start + f.length);
            if (right < 0 || left > this.width) return;
            const from = Math.max(left, 0), room = sorted[i + 1] ? Math.min(right, this.x(sorted[i + 1].start)) : right;
            c.fillStyle = this.accent;
            c.fillRect(from, y + 13, Math.max(Math.min(right, this.width) - from, 2), 2.5);
            if (from < last + 15) return; /* its number would cover the previous one */
            c.beginPath();
            c.arc(from + 7, y + 6, 6.5, 0, 7);
            c.fill();
            c.fillStyle = this.card;
            c.textAlign = 'center';
            c.fillText(f.rank, from + 7, y + 6.5);
            c.textAlign = 'left';
            if (room - from > 40) this.fitText(c, f.title, from + 14, room, y + 6.5, this.ink);
            last = from;
        });
    },

    drawGaps(c) {
        const g = this.data.gaps, y = this.gapLine;
        if (!g.start.length) return; /* no GPU work was recorded */
        c.fillStyle = this.dim;
        c.fillText(g.gpu + ' idle, by cause', 4, y - 7);
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
    },

    fitText(c, text, left, right, y, color) {
        const room = Math.floor((right - left - 6) / 6.65);
        if (room < 3) return;
        c.fillStyle = color;
        c.fillText(text.length > room ? text.slice(0, room - 1) + '\u2026' : text, left + 3, y);
    },

    /* During a search all events are drawn pale first, and then the matches, so that a match is
     * visible where several events share a pixel. */
    drawTrack(c, line) {
        this.drawEvents(c, line, this.find ? this.pale : this.colors, null, 0.8);
        if (this.find) this.drawEvents(c, line, this.colors, this.hits, 2);
    },

    /* Draws all events of a track, or those whose names are `wanted`, each at least `least` pixels
     * wide. */
    drawEvents(c, line, colors, wanted, least) {
        const {row, track, y, height} = line, starts = track.starts;
        let k = Math.max(0, upperBound(starts, this.view[0]) - 1), last = -1;
        while (k < starts.length && starts[k] < this.view[1]) {
            const i = track.index[k], left = Math.max(this.x(row.start[i]), 0);
            const right = Math.min(this.x(row.start[i] + row.length[i]), this.width), width = right - left;
            if (right >= 0 && !(wanted && (!wanted[row.text[i]] || right < last))) {
                c.fillStyle = colors[row.class[i]];
                last = left + Math.max(width > 3 ? width - 0.5 : width, least);
                c.fillRect(left, y, last - left, height);
                if (width > 24 && row.open)
                    this.fitText(c, this.data.names[row.text[i]], left, right, y + 8, this.find && !wanted ? this.dim : this.textColor(row.class[i]));
            }
            /* Of the events that begin within this pixel, only the last one can reach beyond it. */
            k = width < 1 && !wanted ? Math.max(k + 1, upperBound(starts, this.ns(left + 0.8)) - 1) : k + 1;
        }
    },

    drawSteps(c) {
        const s = this.data.steps;
        c.strokeStyle = this.dim;
        c.setLineDash([3, 3]);
        c.beginPath();
        let last = -99;
        for (let i = upperBound(s.start, this.view[0]); i < s.start.length && s.start[i] < this.view[1]; i++) {
            const x = Math.round(this.x(s.start[i])) + 0.5;
            if (x < last + 12) continue; /* more would be a band */
            last = x;
            c.moveTo(x, 0);
            c.lineTo(x, this.height);
        }
        c.stroke();
        c.setLineDash([]);
    },

    /* The picked event, and arrows from a launch to all work that it put on the GPU. */
    drawPicked(c) {
        const from = this.picked, line = from && this.lineOf(from);
        if (!line) return;
        c.strokeStyle = c.fillStyle = this.ink;
        c.lineWidth = 2;
        this.drawBox(c, from, line);
        for (const other of this.partners(from).slice(0, 200)) {
            const there = this.lineOf(other);
            if (!there) continue;
            this.drawBox(c, other, there);
            if (from.row.kind === 'host') this.drawArrow(c, from, line, other, there);
            else this.drawArrow(c, other, there, from, line);
        }
        c.lineWidth = 1;
    },

    drawBox(c, event, line) {
        const left = this.x(event.row.start[event.i]), right = this.x(event.row.start[event.i] + event.row.length[event.i]);
        c.strokeRect(left, this.top(line) - 1, Math.max(right - left, 2), line.height + 2);
    },

    drawArrow(c, launch, from, work, to) {
        const x = this.x(launch.row.start[launch.i]), tip = this.x(work.row.start[work.i]);
        const down = this.top(to) > this.top(from), y = this.top(from) + (down ? from.height : 0);
        const end = this.top(to) + (down ? 0 : to.height), lean = (end - y) / 3;
        c.beginPath();
        c.moveTo(x, y);
        c.bezierCurveTo(x, y + lean, tip, end - lean, tip, end);
        c.stroke();
        c.beginPath();
        c.moveTo(tip, end);
        c.lineTo(tip - 4, end - Math.sign(lean) * 7);
        c.lineTo(tip + 4, end - Math.sign(lean) * 7);
        c.fill();
    },

    drawSelection(c) {
        if (!this.selection) return;
        const left = this.x(this.selection[0]), right = this.x(this.selection[1]);
        c.fillStyle = this.accent;
        c.globalAlpha = 0.16;
        c.fillRect(left, 0, right - left, this.height);
        c.globalAlpha = 1;
        c.strokeStyle = this.accent;
        c.strokeRect(left + 0.5, 0.5, right - left, this.height - 1);
    },
});
