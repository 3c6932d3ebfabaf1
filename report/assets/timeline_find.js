/* Finds events by a part of their names. */

Object.assign(Timeline.prototype, {
    /* Sets the text to find, and collects all matches on the page, by start. Returns how many there
     * are. */
    search(text) {
        this.find = text.toLowerCase();
        this.matches = [];
        this.match = -1;
        if (this.find) {
            this.hits = this.data.names.map(name => name.toLowerCase().includes(this.find));
            for (const row of this.data.rows)
                for (let i = 0; i < row.start.length; i++)
                    if (this.hits[row.text[i]]) this.matches.push({row, i});
            this.matches.sort((a, b) => a.row.start[a.i] - b.row.start[b.i]);
        }
        this.draw();
        return this.matches.length;
    },

    /* Goes to the next match, or to the previous one; at first, to the first match in view. */
    nextMatch(by) {
        const n = this.matches.length;
        if (!n) return;
        if (this.match < 0) {
            const first = this.matches.findIndex(m => m.row.start[m.i] + m.row.length[m.i] >= this.view[0]);
            this.match = first < 0 ? 0 : by > 0 ? first : (first - 1 + n) % n;
        } else {
            this.match = (this.match + by + n) % n;
        }
        this.showEvent(this.matches[this.match]);
    },
});
