/* Graphs of nested names. A click or Enter makes a box as wide as the graph, arrow keys move
 * between boxes, and a search marks names. Below the graph stand the time of the focused box, and
 * the findings that name its line. */
class Flame {
    constructor(frame) {
        this.frame = frame;
        this.boxes = [...frame.children].map(e => {
            const at = e.title.lastIndexOf(': '), {left, width, top} = e.style;
            return {e, name: e.title.slice(0, at), left: parseFloat(left), width: parseFloat(width), level: Math.round(parseFloat(top) / 1.3)};
        });
        const open = []; /* parents come before their children */
        for (const box of this.boxes) {
            box.parent = open[box.level - 1];
            open[box.level] = box;
            box.e.setAttribute('role', 'treeitem');
            box.e.setAttribute('aria-level', box.level + 1);
            box.e.setAttribute('aria-label', box.e.title);
            box.e.tabIndex = -1;
        }
        frame.setAttribute('role', 'tree');
        this.boxes[0].e.tabIndex = 0;
        this.tools();
        frame.addEventListener('click', e => this.zoom(this.boxOf(e.target)));
        frame.addEventListener('focusin', e => this.describe(this.boxOf(e.target)));
        frame.addEventListener('keydown', e => this.key(e));
    }

    boxOf(e) {
        return this.boxes.find(box => box.e === e);
    }

    tools() {
        const tools = element('p', undefined, 'tools'), label = element('label', 'find in the graph '), all = element('button', 'whole graph');
        this.input = element('input');
        this.found = element('output', undefined, 'dim');
        const named = this.frame.querySelector('[data-findings]') ? ' Findings name the lines with a bar.' : '';
        this.text = element('p', 'Click a box to zoom, or use Enter and the arrow keys; Escape shows the whole graph.' + named, 'dim');
        this.text.setAttribute('aria-live', 'polite');
        label.append(this.input);
        tools.append(label, all, this.found);
        this.input.addEventListener('input', () => this.search(this.input.value.trim().toLowerCase()));
        all.addEventListener('click', () => this.zoom());
        this.frame.before(tools);
        this.frame.after(this.text);
    }

    /* Boxes around `to` become as wide as the graph; boxes beside it are hidden. */
    zoom(to) {
        const from = to ? to.left : 0, width = to ? to.width : 100, end = from + width;
        for (const {e, name, ...box} of this.boxes) {
            const left = Math.max(box.left, from), right = Math.min(box.left + box.width, end), share = (right - left) / width * 100;
            e.hidden = share < 0.05;
            e.style.left = (left - from) / width * 100 + '%';
            e.style.width = share + '%';
            e.textContent = share > 2 ? name : '';
        }
        if (to) to.e.focus({preventScroll: true});
    }

    key(e) {
        const box = this.boxOf(e.target), near = by => {
            const row = this.boxes.filter(b => b.level === box.level && !b.e.hidden);
            return row[row.indexOf(box) + by];
        };
        const to = {ArrowLeft: () => near(-1), ArrowRight: () => near(1), ArrowUp: () => box.parent,
                    ArrowDown: () => this.boxes.find(b => b.parent === box && !b.e.hidden)}[e.key];
        if (to) to()?.e.focus();
        else if (e.key === 'Enter' || e.key === ' ') this.zoom(box);
        else if (e.key === 'Escape') this.zoom();
        else return;
        e.preventDefault();
    }

    describe(box) {
        for (const b of this.boxes) b.e.tabIndex = b === box ? 0 : -1;
        this.text.replaceChildren(box.e.title);
        for (const number of (box.e.dataset.findings || '').split(' ').filter(Boolean)) {
            const finding = byId('finding' + number), link = element('a', finding.querySelector('.title').textContent);
            link.href = '#finding' + number;
            link.addEventListener('click', () => { finding.open = true; });
            this.text.append('. Finding ' + number + ': ', link);
        }
    }

    /* Marks matching boxes. A box within a matching one is already in its share. */
    search(wanted) {
        let n = 0, share = 0;
        for (const box of this.boxes) {
            box.hit = wanted && box.name.toLowerCase().includes(wanted);
            box.inside = box.parent && (box.parent.hit || box.parent.inside);
            box.e.classList.toggle('hit', !!box.hit);
            n += !!box.hit;
            share += box.hit && !box.inside ? box.width : 0;
        }
        this.found.textContent = wanted ? n + (n === 1 ? ' box, ' : ' boxes, ') + share.toFixed(1) + ' % of the time' : '';
    }
}
