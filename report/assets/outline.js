/* Recorded steps whose single events are not on the page: a tint, so that they do not look idle, and
 * their idle time by cause at the end of each. */

Object.assign(Timeline.prototype, {
    /* Spans of such steps in a row, by their time on the GPU. */
    outlines() {
        const {steps: s, all, window} = this.data, out = [];
        if (all || window.length) return out;
        for (let i = 0; i < s.start.length; i++) {
            const end = s.start[i] + s.until[i], start = end - s.length[i], last = out.at(-1);
            if (s.detail[i]) continue;
            if (last && last.end === i - 1 && start - last.to < s.length[i]) Object.assign(last, {to: end, end: i});
            else out.push({from: start, to: end, first: i, end: i});
        }
        return out;
    },

    drawOutlines(c) {
        c.fillStyle = this.pale[this.partColor.length];
        for (const {from, to} of this.outline) {
            const left = Math.max(this.x(from), 0), right = Math.min(this.x(to), this.width);
            if (right > left) c.fillRect(left, this.head, Math.max(right - left, 0.8), this.height - this.head);
        }
    },

    /* Where there is room: which steps they are. */
    drawOutlineWords(c) {
        const {number} = this.data.steps;
        for (const {from, to, first, end} of this.outline) {
            const steps = stepsText(number[first], number[end]), left = Math.max(this.x(from), 0), right = Math.min(this.x(to), this.width);
            this.drawPill(c, ['recorded: ' + steps + '; single events not on this page', 'recorded: ' + steps, steps], left, right);
        }
    },

    /* The idle time of each such step, by cause, at its end: when in the step it was is not on the page. */
    drawIdleShares(c) {
        const {steps: s, partTitles, gaps} = this.data, n = partTitles.length, y = this.gapLine;
        if (!s.parts.length || !gaps.start.length) return;
        for (const {first, end} of this.outline)
            for (let i = first; i <= end; i++) {
                let right = this.x(s.start[i] + s.until[i]);
                if (right < 0) continue;
                if (this.x(s.start[i]) > this.width) break;
                for (let p = n - 1; p >= 0; p--) {
                    const wide = s.parts[i * n + p] / (this.view[1] - this.view[0]) * this.width;
                    if (!(wide > 0) || !partTitles[p].startsWith('GPU idle')) continue;
                    c.fillStyle = this.partColor[p];
                    c.fillRect(right - wide, y, wide, 14);
                    right -= wide;
                }
            }
    },
});
