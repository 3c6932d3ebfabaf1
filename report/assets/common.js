'use strict';
/* What both halves of the page's script use. */

function undelta(list) {
    let last = 0;
    for (let i = 0; i < list.length; i++) last = list[i] += last;
    return list;
}

/* First index of sorted `list` whose value is above v. */
function upperBound(list, v) {
    let low = 0, high = list.length;
    while (low < high) {
        const mid = (low + high) >> 1;
        if (list[mid] <= v) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* Spans, in any order, as spans that do not touch. */
function union(spans) {
    const out = [];
    for (const [start, end] of spans.sort((a, b) => a[0] - b[0])) {
        const last = out.at(-1);
        if (!last || start > last[1]) out.push([start, end]);
        else last[1] = Math.max(last[1], end);
    }
    return out;
}

function formatTime(ns) {
    const a = Math.abs(ns);
    const [v, unit] = a < 1e3 ? [ns, 'ns'] : a < 1e6 ? [ns / 1e3, 'us'] : a < 1e9 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
    return (a < 1e3 || Math.abs(v) >= 99.95 ? v.toFixed(0) : v.toPrecision(3)) + ' ' + unit;
}
