/* Text about the event under the pointer, the picked one, and a selected span. Methods of the
 * page. */

const pageDetails = {
    rows(pairs) {
        const table = element('table');
        for (const [name, value] of pairs) {
            const row = table.insertRow();
            row.append(element('th', name), element('td', value));
        }
        byId('details').replaceChildren(table);
    },

    /* The moment from which a time is counted, and words for it. */
    zero(at) {
        const after = this.data.after[this.timeline.after], s = this.data.steps, end = this.gpuSpan(this.step)[1];
        if (after) return [after.from, ' into the step'];
        if (this.whole || !(at >= s.start[0])) return [this.data.from, ' into the recording'];
        const step = at >= s.start[this.step] && at < end ? this.step : this.stepAt(at);
        return [s.start[step], ' into ' + (this.data.unit === 'window' ? 'the window' : this.data.unit + ' ' + s.number[step])];
    },

    facts(hit) {
        if (hit.gap !== undefined) {
            const g = this.data.gaps;
            return [[g.gpu + ' idle', this.data.partTitles[g.part[hit.gap]]], ['length', formatTime(g.length[hit.gap])]];
        }
        if (hit.unrecorded !== undefined) return this.unrecordedFacts(hit);
        if (hit.finding !== undefined) {
            const f = this.data.findings[hit.finding];
            const out = [['finding ' + f.rank, f.title], ['here', f.text || ''], ['length', formatTime(f.length)]];
            return f.caller ? [...out, ['called from', f.caller]] : out;
        }
        if (hit.label) return [[hit.label.name, 'click to ' + (hit.pin ? hit.label.pinned ? 'unpin' : 'pin to the top' : hit.label.open ? 'fold' : 'unfold')]];
        const {row, i} = hit, start = row.start[i], names = this.data.names, [zero, into] = this.zero(start);
        const out = [[row.name, names[row.text[i]]], ['length', formatTime(row.length[i])],
                     ['starts at', formatMoment(start - zero) + into]];
        if (row.more[i]) out.push([row.kind === 'gpu' ? 'size' : 'shape', this.data.mores[row.more[i]]]);
        if (row.of) return [...out, ['recorded', formatTime(row.of.length[row.was[i]]) + ' long, ' + formatMoment(row.of.start[row.was[i]] - zero) + into]];
        return out.concat(this.origin(hit));
    },

    /* The call that launched an event, and the operators around that call. */
    origin(hit) {
        const {timeline, data: {names, mores}} = this, host = hit.row.kind === 'host';
        const launch = host ? hit : timeline.partners(hit)[0], out = [];
        if (!launch) return out;
        const outer = timeline.around(launch).slice(0, 3);
        if (outer.length) out.push([host ? 'within' : 'operator', outer.map(j => names[launch.row.text[j]]).join(', in ')]);
        const shape = outer.find(j => launch.row.more[j]);
        if (shape !== undefined) out.push(['shape', mores[launch.row.more[shape]]]);
        if (!host)
            out.push(['launched', formatTime(hit.row.start[hit.i] - launch.row.start[launch.i]) + ' before, by ' + names[launch.row.text[launch.i]] + ' on ' + launch.row.name]);
        else if (timeline.partners(hit).length)
            out.push(['launches', timeline.partners(hit).slice(0, 3).map(w => names[w.row.text[w.i]]).join(', ') + (timeline.partners(hit).length > 3 ? ', ...' : '')]);
        return out;
    },

    hover(hit, x, y) {
        const tip = byId('tip'), frame = byId('frame');
        tip.hidden = !hit;
        if (!hit) return;
        tip.replaceChildren(...this.facts(hit).map(([name, value]) => {
            const line = element('div');
            line.append(element('span', name + ': '), value);
            return line;
        }));
        const left = Math.min(x + 14, frame.clientWidth - tip.offsetWidth - 4);
        tip.style.left = Math.max(left, 0) + 'px';
        tip.style.top = frame.offsetTop + (y + 20 + tip.offsetHeight > frame.clientHeight ? y - tip.offsetHeight - 10 : y + 18) + 'px';
    },

    pick(hit) {
        if (!hit || hit.label) {
            this.details();
            return;
        }
        this.rows(this.facts(hit));
        const after = hit.finding !== undefined && this.after.buttonOf(this.data.findings[hit.finding].rank);
        if (after) byId('details').append(after);
        if (hit.unrecorded !== undefined) {
            const block = this.timeline.unrecorded.blockAt(hit.ns);
            if (block >= 0) byId('details').append(this.nearestButton(this.timeline.unrecorded.blocks.first[block]));
        }
        const other = hit.row && this.timeline.partners(hit)[0];
        if (!other) return;
        const button = element('button', hit.row.kind === 'gpu' ? 'go to its launch' : 'go to its work on the GPU');
        button.addEventListener('click', () => this.timeline.showEvent(other));
        byId('details').append(button);
    },

    select(span) {
        const [there, missing] = this.coverage(...span), length = formatTime(span[1] - span[0]), {rows, gaps} = this.data;
        const gpus = new Set(rows.filter(r => r.kind === 'gpu').map(r => r.gpu));
        if (missing || !gpus.size) {
            this.rows([['selected', length + (missing ? there ? '; not all of its events are on this page' : '; its events are not on this page' : '')]]);
            return;
        }
        const sums = this.timeline.sums(...span), whole = span[1] - span[0];
        if (sums.span <= 0) {
            this.rows([['selected', length + ', not recorded: step times only']]);
            return;
        }
        const pairs = [['selected', length + ', ' + sums.count + ' GPU operation' + (sums.count === 1 ? '' : 's') + (gpus.size > 1 ? ' of ' + gaps.gpu : '')]];
        if (sums.span < whole) pairs.push(['recorded', formatTime(sums.span) + ' of it: the shares below are of this time']);
        sums.parts.forEach((ns, i) => ns > 0 && pairs.push([this.data.partTitles[i], formatTime(ns) + ', ' + (ns / sums.span * 100).toFixed(1) + ' %']));
        this.rows(pairs);
    },

    details() {
        byId('details').replaceChildren();
    },
};
