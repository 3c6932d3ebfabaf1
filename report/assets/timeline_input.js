/* Pointer and keyboard on the timeline. */

Object.assign(Timeline.prototype, {
    listen() {
        const c = this.canvas;
        let down = null;
        const where = e => {
            const box = c.getBoundingClientRect();
            return [e.clientX - box.left, e.clientY - box.top];
        };
        c.addEventListener('wheel', e => {
            const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY);
            /* Leave it to the browser, which scrolls the lanes or the page. */
            if (!e.ctrlKey && !e.metaKey && !(sideways && document.activeElement === c)) return;
            e.preventDefault();
            if (sideways) this.move(Math.sign(e.deltaX) * 0.05);
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
                this.callbacks.hovered(this.at(x, y), x, y - this.canvas.parentElement.scrollTop);
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
            this.click(this.at(x, y));
        });
        c.addEventListener('pointerleave', () => this.callbacks.hovered(null));
        c.parentElement.addEventListener('scroll', () => this.draw());
        c.addEventListener('dblclick', e => {
            const hit = this.at(...where(e));
            if (hit && hit.row) this.setView(hit.row.start[hit.i] - hit.row.length[hit.i], hit.row.start[hit.i] + 2 * hit.row.length[hit.i]);
        });
        c.addEventListener('keydown', e => this.key(e));
        window.addEventListener('resize', () => this.resize());
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.callbacks.recolor());
    },

    click(hit) {
        if (hit && hit.label) {
            this.toggle(hit.label, hit.pin ? 'pinned' : 'open');
            return;
        }
        this.selection = hit && hit.finding !== undefined ? this.spanOf(this.data.findings[hit.finding]) : null;
        this.picked = hit && hit.row ? hit : null;
        this.draw();
        this.callbacks.picked(hit);
    },

    spanOf(f) {
        return [f.start, f.start + f.length];
    },

    /* Goes from a launch to its work, or back. */
    follow() {
        const other = this.picked && this.partners(this.picked)[0];
        if (other) this.showEvent(other);
    },

    key(e) {
        const actions = {
            w: () => this.zoom(0.7), s: () => this.zoom(1 / 0.7), a: () => this.move(-0.2), d: () => this.move(0.2),
            f: () => this.selection ? this.setView(...this.selection) : this.fit(),
            ArrowLeft: () => this.callbacks.step(-1), ArrowRight: () => this.callbacks.step(1),
            l: () => this.follow(), c: () => this.picked && this.toggle(this.picked.row, 'open'),
            p: () => this.picked && this.toggle(this.picked.row, 'pinned'),
            n: () => this.callbacks.match(1), N: () => this.callbacks.match(-1),
            Escape: () => { this.selection = this.picked = null; this.draw(); this.callbacks.picked(null); this.canvas.blur(); },
        };
        if (e.ctrlKey || e.metaKey || e.altKey || !actions[e.key]) return;
        e.preventDefault();
        actions[e.key]();
    },
});
