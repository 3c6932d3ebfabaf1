/* What was not recorded: stretches of a run between recorded windows. Of the steps in them only the
 * times are known, in blocks of neighbouring steps. */

class Unrecorded {
    constructor(data) {
        Object.assign(this, data.unrecorded);
        this.blocks = data.blocks;
        undelta(this.blocks.start);
        undelta(this.blocks.first);
        this.number = data.steps.number;
    }

    /* The stretch around a moment; -1: it was recorded. */
    at(ns) {
        const k = upperBound(this.from, ns) - 1;
        return k >= 0 && ns < this.to[k] ? k : -1;
    }

    /* The stretch in which a step with this number began; -1: none. */
    ofStep(number) {
        return this.first.findIndex((first, k) => first && first <= number && number <= this.last[k]);
    }

    blockAt(ns) {
        const {start, length} = this.blocks, i = upperBound(start, ns) - 1;
        return i >= 0 && ns < start[i] + length[i] ? i : -1;
    }

    /* Of a span, the time that was not recorded; with `ends` = known, in which the GPU's idle times are
     * not known. */
    within(from, to, ends = this.to) {
        return this.from.reduce((sum, start, k) => sum + Math.max(Math.min(ends[k], to) - Math.max(start, from), 0), 0);
    }

    /* Of spans in order, what lies outside of the stretches. */
    without(spans) {
        const out = [];
        for (let [start, end] of spans) {
            for (let k = Math.max(upperBound(this.from, start) - 1, 0); k < this.from.length && this.from[k] < end; k++) {
                if (this.known[k] <= start) continue;
                if (this.from[k] > start) out.push([start, this.from[k]]);
                start = this.known[k];
            }
            if (end > start) out.push([start, end]);
        }
        return out;
    }

    /* "steps 131 to 1160"; '' if no step began in the stretch, or its number is not known. */
    steps(k) {
        return this.first[k] ? stepsText(this.first[k], this.last[k]) : '';
    }

    /* Words for a stretch, the longest first. */
    words(k) {
        const steps = this.steps(k);
        return steps ? ['not recorded: ' + steps + '; step times only', 'not recorded: ' + steps, 'not recorded'] : ['not recorded'];
    }

    /* "steps 131 to 138 took 1.89 ms each on average (1.10 to 3.50 ms)": of the blocks in which the
     * steps from `first` to `last` lie. */
    times(first, last) {
        const b = this.blocks, from = Math.max(upperBound(b.first, first) - 1, 0), to = upperBound(b.first, last) - 1;
        let n = 0, ns = 0, min = Infinity, max = 0;
        for (let i = from; i <= to; i++) {
            n += b.steps[i];
            ns += b.length[i];
            min = Math.min(min, b.min[i]);
            max = Math.max(max, b.max[i]);
        }
        if (!n) return '';
        const steps = stepsText(b.first[from], b.first[to] + b.steps[to] - 1) + ' took ';
        return n === 1 ? steps + formatTime(ns) : steps + formatTime(ns / n) + ' each on average (' + formatTime(min) + ' to ' + formatTime(max) + ')';
    }

    /* Index of the recorded step that is nearest to the one with this number. */
    nearest(number) {
        const i = upperBound(this.number, number);
        return i > 0 && (i === this.number.length || number - this.number[i - 1] <= this.number[i] - number) ? i - 1 : i;
    }
}

function stepsText(first, last) {
    return first === last ? 'step ' + first : 'steps ' + first + ' to ' + last;
}

/* Hatches what lies between y and y + height in the stretches. What lies between two of them and is
 * narrower than half a pixel is hatched with them, as what is drawn over it stays visible. */
function hatch(c, unrecorded, place, width, y, height, color, each) {
    const {from, to} = unrecorded;
    c.strokeStyle = color;
    c.lineWidth = 1;
    for (let k = 0; k < from.length; k++) {
        const left = Math.max(place(from[k]), 0);
        while (k + 1 < from.length && place(from[k + 1]) - place(to[k]) < 0.5) k++;
        const right = Math.min(place(to[k]), width);
        if (right - left < 0.5) continue;
        c.save();
        c.globalAlpha = 0.3;
        c.beginPath();
        c.rect(left, y, right - left, height);
        c.clip();
        c.beginPath();
        for (let x = Math.floor((left - height) / each) * each; x < right; x += each) {
            c.moveTo(x, y + height);
            c.lineTo(x + height, y);
        }
        c.stroke();
        c.restore();
    }
}

Object.assign(Timeline.prototype, {
    drawUnrecorded(c, y, height) {
        hatch(c, this.unrecorded, ns => this.x(ns), this.width, y, height, this.dim, 9);
    },

    /* A line with the times of the steps: of recorded ones, and of blocks of others. */
    drawTimes(c) {
        const {data: {steps: s}, unrecorded: {blocks: b}, timesLine: y} = this;
        if (!this.unrecorded.from.length) return;
        this.drawBoxes(c, b.start, b.length, y, this.pale[this.partColor.length], i => stepsText(b.first[i], b.first[i] + b.steps[i] - 1) + ': ' + formatTime(b.length[i] / b.steps[i]) + (b.steps[i] > 1 ? ' each' : ''));
        this.drawBoxes(c, s.start, s.start.map((start, i) => this.hostLength(i)), y, this.hostColor[0], i => 'step ' + s.number[i] + ': ' + formatTime(s.length[i]));
    },

    /* From a step's begin to its end on the host. */
    hostLength(i) {
        const s = this.data.steps, next = i + 1 < s.start.length && s.number[i + 1] === s.number[i] + 1 ? s.start[i + 1] : s.start[i] + s.length[i];
        return Math.min(next, s.start[i] + Math.max(s.until[i], s.length[i])) - s.start[i];
    },

    drawBoxes(c, starts, lengths, y, color, text) {
        let last = -1;
        for (let i = Math.max(upperBound(starts, this.view[0]) - 1, 0); i < starts.length && starts[i] < this.view[1]; i++) {
            const left = Math.max(this.x(starts[i]), 0), right = Math.min(this.x(starts[i] + lengths[i]), this.width);
            if (right < 0 || right < last + 0.5) continue;
            c.fillStyle = color;
            c.fillRect(left, y, Math.max(right - left - (right - left > 3 ? 1 : 0), 0.8), 15);
            if (right - left > 60) this.fitText(c, text(i), left, right, y + 8, this.ink);
            last = right;
        }
    },

    /* In each stretch that has room: what is known of it. */
    drawWords(c) {
        const {from, to} = this.unrecorded;
        from.forEach((start, k) => this.drawPill(c, this.unrecorded.words(k), Math.max(this.x(start), 0), Math.min(this.x(to[k]), this.width)));
    },

    /* The first of some texts for which there is room, in the middle of what is visible of the rows, but
     * not over the name of one. */
    drawPill(c, texts, left, right) {
        const text = texts.find(words => words.length <= (right - left - 20) / 6.65);
        if (!text) return;
        const frame = this.canvas.parentElement, below = Math.min(frame.clientHeight || this.height, this.height - this.scrolled()) - this.head;
        const middle = this.scrolled() + this.head + Math.max(below / 2, 10), far = line => Math.abs(line.y + 7.5 - middle);
        const line = this.lines.filter(l => l.track && l.y >= this.head).sort((a, b) => far(a) - far(b))[0];
        const y = line ? line.y + 7.5 : middle, wide = c.measureText(text).width, at = (left + right - wide) / 2;
        c.fillStyle = this.card;
        c.fillRect(at - 6, y - 10, wide + 12, 20);
        c.fillStyle = this.ink;
        c.fillText(text, at, y + 0.5);
    },
});

/* Showing what was not recorded. Methods of the page. */
const pageUnrecorded = {
    /* Goes to the next step or the previous one; what was not recorded between two steps counts as
     * one. */
    turn(by) {
        const {number} = this.data.steps, {first, last} = this.timeline.unrecorded;
        const now = this.stretch ? (by > 0 ? last : first)[this.stretch.k] : number[this.step];
        const k = this.timeline.unrecorded.ofStep(now + by);
        if (k >= 0) this.openStretch(k);
        else if (!this.stretch) this.choose(this.step + by);
        else if (number.includes(now + by)) this.choose(number.indexOf(now + by));
    },

    /* Shows a step by its number. If it was not recorded, those around it of which the times are
     * known. */
    openNumber(number) {
        const {unrecorded} = this.timeline, i = this.data.steps.number.indexOf(number), k = unrecorded.ofStep(number);
        if (i >= 0) this.choose(i);
        else if (k >= 0) this.openStretch(k, number);
        else this.choose(unrecorded.nearest(number));
    },

    /* Shows a stretch that was not recorded, or in it the block of steps around one with this
     * number. */
    openStretch(k, number) {
        const {unrecorded: u, unrecorded: {blocks}} = this.timeline, block = number && upperBound(blocks.first, number) - 1;
        const [from, to] = number && block >= 0 ? [blocks.start[block], blocks.start[block] + blocks.length[block]] : [u.from[k], u.to[k]], margin = (to - from) * 0.02;
        this.whole = false;
        this.stretch = {k, first: number ?? u.first[k], last: number ?? u.last[k]};
        this.after.drop();
        this.timeline.setHome(from - margin, to + margin, margin);
        this.details();
        this.mark();
        this.bar();
    },

    nearestButton(number) {
        const i = this.timeline.unrecorded.nearest(number);
        const button = element('button', 'go to step ' + this.data.steps.number[i] + ', the nearest recorded one');
        button.addEventListener('click', () => this.choose(i));
        return button;
    },

    /* Words for what was not recorded and is shown. */
    unrecordedText() {
        const {first, last} = this.stretch, steps = stepsText(first, last), times = this.timeline.unrecorded.times(first, last);
        return 'S' + steps.slice(1) + (first === last ? ' was' : ' were') + ' not recorded: only step times are known' + (times && '; ' + times);
    },

    /* What is known of a moment that was not recorded. */
    unrecordedFacts({unrecorded, ns}) {
        const u = this.timeline.unrecorded, block = u.blockAt(ns), steps = u.steps(unrecorded);
        const out = [['not recorded', (steps ? steps + '; ' : '') + 'step times only']];
        if (block >= 0) out.push(['here', u.times(u.blocks.first[block], u.blocks.first[block])]);
        return out;
    },
};
