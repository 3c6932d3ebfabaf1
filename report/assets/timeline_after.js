/* The step after a change, as the replay predicts it. Under each row of the recorded step are the
 * same events where they would be, without those that would be gone. */

Object.assign(Timeline.prototype, {
    /* The row for change `k`, made at its first use; null if nothing was replayed. */
    afterRow(row, k) {
        if (k < 0 || !row.after[k][0].length) return null;
        if (!row.afterRows) row.afterRows = [];
        row.afterRows[k] ??= this.movedRow(row, row.kind === 'gpu' ? this.movedWork(row, k) : this.movedHost(row, k));
        return row.afterRows[k].start.length ? row.afterRows[k] : null;
    },

    /* The operations of a stream that remain: their index, start and length. */
    movedWork(row, k) {
        const [number, shift, longer] = row.after[k];
        undelta(number);
        undelta(shift);
        return number.map((i, n) => ({i, start: row.start[i] + shift[n], length: row.length[i] + longer[n]}));
    },

    /* What a thread did in the step. Between the moments that the replay knows, events move in
     * proportion; before the first and after the last they move with it. Events that no longer take
     * time are left out, and so are those whose work other threads now do. */
    movedHost(row, k) {
        const [was, shift, elsewhere] = row.after[k], after = this.data.after[k], out = [];
        [was, shift, elsewhere].forEach(undelta);
        const others = new Set(elsewhere), last = was.length - 1;
        const place = (at, next) => {
            const n = Math.min(Math.max(next, 0), last), m = Math.min(Math.max(next - 1, 0), last), span = was[n] - was[m];
            return at + (span > 0 ? shift[m] + (at - was[m]) / span * (shift[n] - shift[m]) : shift[n]);
        };
        for (let i = upperBound(row.start, after.hostFrom - 1); i < row.start.length && row.start[i] < after.hostTo; i++) {
            const start = row.start[i] - after.from, end = start + row.length[i];
            const next = upperBound(was, start), until = upperBound(was, end - 1);
            if (others.has(next) && end <= was[next] && row.length[i] < was[next] - was[next - 1]) continue;
            const from = next > 0 && was[next - 1] === start ? start + shift[next - 1] : place(start, next);
            const to = until <= last && was[until] === end ? end + shift[until] : place(end, until);
            if (to - from <= 0.1 * row.length[i] && to - from < 500) continue;
            out.push({i, start: Math.round(from + after.from), length: Math.round(to - from)});
        }
        return out;
    },

    movedRow(row, events) {
        const out = {name: 'after the change: ' + row.name, kind: row.kind, of: row, was: [], open: true, pinned: false,
                     start: [], length: [], text: [], class: [], launch: [], more: []};
        events.sort((a, b) => a.start - b.start || b.length - a.length);
        for (const {i, start, length} of events) {
            out.was.push(i);
            out.start.push(start);
            out.length.push(length);
            for (const column of ['text', 'class', 'more']) out[column].push(row[column][i]);
            out.launch.push(0);
        }
        makeTracks(out);
        return out;
    },

    /* Two bars with the same begin: the length of the step as recorded, and after the change. */
    drawLengths(c) {
        const after = this.data.after[this.after], y = this.lengthLine;
        if (!after) return;
        const bars = [[after.was, 'as recorded: ', this.dim], [after.is, 'after the change, predicted: ', this.accent]];
        bars.forEach(([length, words, color], k) => {
            const left = Math.max(this.x(after.from), 0), right = Math.min(this.x(after.from + length), this.width);
            const room = (right - left - 10) / 6.65, at = y + 16 * k + 7, time = formatTime(length);
            const text = [words + time, words.split(' ').at(-2) + ' ' + time].find(t => t.length < room);
            if (right > left) {
                c.fillStyle = color;
                c.fillRect(left, y + 16 * k, Math.max(right - left, 2), 13);
            }
            if (text) this.fitText(c, text, left, right, at, this.card);
            else this.fitText(c, words + time, Math.max(right, 0), this.width, at, this.ink);
        });
    },

    /* A tint behind predicted rows. */
    drawPredicted(c, line) {
        if (!line.row.of) return;
        c.fillStyle = this.accent;
        c.globalAlpha = 0.1;
        c.fillRect(0, line.y - 1, this.width, line.label ? 16 : line.height + 2);
        c.globalAlpha = 1;
    },
});

/* The controls: a choice in the tools, and a button in each finding that has a replayed step. */
class AfterChange {
    constructor(page) {
        this.page = page;
        this.all = page.data.after;
        const select = byId('after');
        select.parentElement.hidden = !this.all.length;
        if (!this.all.length) return;
        select.append(new Option('nothing: as recorded', -1), ...this.all.map((a, k) => new Option(a.rank + ' ' + a.title, k)));
        select.addEventListener('change', () => this.choose(Number(select.value)));
        this.all.forEach((a, k) => {
            const inside = document.querySelectorAll('.findings > li')[a.rank - 1]?.querySelector('.inside');
            inside?.append(this.button(k));
        });
    }

    button(k) {
        const button = element('button', 'show the step after this change on the timeline', 'change');
        button.addEventListener('click', () => {
            this.choose(k);
            byId('timeline').scrollIntoView();
            byId('canvas').focus({preventScroll: true});
        });
        return button;
    }

    /* The button of finding `rank`; null if its step was not replayed. */
    buttonOf(rank) {
        const k = this.all.findIndex(a => a.rank === rank);
        return k < 0 ? null : this.button(k);
    }

    choose(k) {
        const {timeline} = this.page, after = this.all[k];
        if (!after) {
            this.page.choose(this.page.step);
            return;
        }
        this.page.choose(after.step);
        const start = this.page.data.steps.start[after.step], length = Math.max(after.was, after.is), margin = length * 0.02;
        const from = Math.max(Math.min(start, after.from), after.from - after.was / 2) - margin;
        timeline.after = k;
        timeline.setHome(from, after.from + length + margin, after.from - from);
        byId('frame').scrollTop = 0;
        this.describe(after);
    }

    /* Returns to the recorded step. */
    drop() {
        this.page.timeline.after = -1;
        this.describe(null);
    }

    describe(after) {
        const text = byId('aftertext'), number = after && this.page.data.steps.number[after.step];
        byId('after').value = after ? this.all.indexOf(after) : -1;
        text.hidden = !after;
        text.textContent = after ? 'Prediction for "' + after.title + '": step ' + number + ' took ' + formatTime(after.was) +
            ' as recorded, and takes ' + formatTime(after.is) + ' after the change (' +
            (100 * (after.was - after.is) / after.was).toFixed(1) + ' % less). gpuprof replayed the recorded dependencies with ' +
            'this change; below each lane is where its events would be.' : '';
    }
}
