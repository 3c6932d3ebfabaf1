'use strict';
/* Functions that all parts of the page's script use. */

function undelta(list) {
    let last = 0;
    for (let i = 0; i < list.length; i++) last = list[i] += last;
    return list;
}

/* Makes moments and numbers of what a row has as differences (page_data.c). */
function unpackEvents({start, length, launch}) {
    let end = 0, last = 0;
    for (let i = 0; i < start.length; i++) {
        start[i] += end;
        end = start[i] + length[i];
        if (launch[i]) launch[i] = last += launch[i] - (launch[i] > 0);
    }
}

/* The same for the steps (page_data_steps.c): of exact ones and of others. */
function unpackSteps(s, from) {
    const {exact, start, until, longer, aboutStart, aboutLength} = s, length = [];
    [s.number, start, aboutStart].forEach(undelta);
    let k = 0, n = 0, end = 0;
    const all = exact.map((yes, i) => {
        if (!yes) {
            length[i] = aboutLength[n] * s.lengthGrid;
            return [from + aboutStart[n++] * s.beginGrid, length[i]];
        }
        const to = start[k] + until[k];
        length[i] = to - end + longer[k];
        end = to;
        return [start[k], until[k++]];
    });
    Object.assign(s, {length, start: all.map(([at]) => at), until: all.map(([, span]) => span)});
}

/* First index of sorted `list` whose value is above v; list.length if there is none. */
function upperBound(list, v) {
    let low = 0, high = list.length;
    while (low < high) {
        const mid = (low + high) >> 1;
        if (list[mid] <= v) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* A colour (#rrggbb) laid over another one; `share` is its opacity. */
function mix(over, below, share) {
    const parts = color => [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16)), under = parts(below);
    return '#' + parts(over).map((v, i) => Math.round(v * share + under[i] * (1 - share)).toString(16).padStart(2, '0')).join('');
}

/* Merges spans, given in any order, into spans that do not touch. */
function union(spans) {
    const out = [];
    for (const [start, end] of spans.sort((a, b) => a[0] - b[0])) {
        const last = out.at(-1);
        if (!last || start > last[1]) out.push([start, end]);
        else last[1] = Math.max(last[1], end);
    }
    return out;
}

/* Formats a time with three digits; with `tick`, with as many as distinguish times that are a tick
 * apart. */
function formatTime(ns, tick) {
    const a = Math.abs(ns), [scale, unit] = a < 1e3 ? [1, 'ns'] : a < 1e6 ? [1e3, 'us'] : a < 1e9 ? [1e6, 'ms'] : [1e9, 's'], v = ns / scale;
    if (tick) return v.toFixed(Math.max(0, Math.ceil(Math.log10(scale / tick) - 1e-9))) + ' ' + unit;
    return (a < 1e3 || Math.abs(v) >= 99.95 ? v.toFixed(0) : v.toPrecision(3)) + ' ' + unit;
}

/* Formats a moment; from a millisecond on, to the microsecond. */
function formatMoment(ns) {
    return formatTime(ns, Math.abs(ns) < 1e6 ? 0 : 1e3);
}
