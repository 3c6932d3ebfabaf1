#!/usr/bin/env python3
"""Makes copies of a recorded rank (a Kineto trace of PyTorch), one for each rank of a job. Each copy has its own clock and its own
times of arrival at the collectives; all ranks leave a collective together. The time in between is stretched, so events keep their
order.

Usage: ranks_copies.py TRACE.json.gz FOLDER RANKS LATE_RANK...
"""
import bisect
import gzip
import os
import random
import re
import sys

LATE_US, JITTER_US, PAUSE_US, CLOCK_US = 8000, 200, 1000, 5000
TIMES = re.compile(r'("ts": )([0-9.]+)(?:(, "dur": )([0-9.]+))?')
COLLECTIVE = re.compile(r'"cat": "kernel", "name": "nccl[^"]*"[^}]*?"ts": ([0-9.]+), "dur": ([0-9.]+)', re.I)
RANK = re.compile(r'"rank": \d+, "world_size": \d+')


def collectives(text):
    """Start and end of each collective, in order. One that begins before the previous one has ended is left out."""
    found = []
    for start, dur in sorted((float(a), float(b)) for a, b in COLLECTIVE.findall(text)):
        if not found or start > found[-1][1]:
            found.append((start, start + dur))
    return found


def arrivals(found, ranks, late, chance):
    """Returns the new starts for each rank, and the common ends. A late rank is late only where it computed before."""
    starts, ends, at = [[] for _ in range(ranks)], [], found[0][0]
    for i, (start, end) in enumerate(found):
        work = start - found[i - 1][1] if i else 0
        for r in range(ranks):
            starts[r].append(at + work + (chance.uniform(0, JITTER_US) + (LATE_US if r in late else 0) if work > PAUSE_US else 0))
        at = max(s[-1] for s in starts) + min(end - start, 50)
        ends.append(at)
    return starts, ends


def bent(found, starts, ends, shift):
    """Returns the map from recorded to new times: linear between the ends of collectives, a constant shift before and after."""
    old = [t for pair in found for t in pair]
    new = [t for pair in zip(starts, ends) for t in pair]

    def move(t):
        i = bisect.bisect_right(old, t)
        if i == 0:
            return t + new[0] - old[0] + shift
        if i == len(old):
            return t + new[-1] - old[-1] + shift
        part = (t - old[i - 1]) / (old[i] - old[i - 1]) if old[i] > old[i - 1] else 0
        return new[i - 1] + part * (new[i] - new[i - 1]) + shift

    return move


def write(trace, folder, ranks, late):
    with gzip.open(trace, "rt", encoding="utf-8") as f:
        text = f.read()
    found, chance = collectives(text), random.Random(1)
    if len(found) < 2:
        raise SystemExit(f"{trace}: no two collectives to bend the time between")
    parts = TIMES.split(text)  # text, "ts": , time, dur's key, its time, text, ...
    starts, ends = arrivals(found, ranks, late, chance)
    for r in range(ranks):
        move, out = bent(found, starts[r], ends, chance.uniform(-CLOCK_US, CLOCK_US)), []
        for i in range(0, len(parts) - 1, 5):
            before, ts, at, dur, lasts = parts[i:i + 5]
            begin = move(float(at))
            out += [before, ts, f"{begin:.3f}"] + ([dur, f"{move(float(at) + float(lasts)) - begin:.3f}"] if dur else [])
        whole = RANK.sub(f'"rank": {r}, "world_size": {ranks}', "".join(out) + parts[-1], count=1)
        with gzip.open(os.path.join(folder, f"copy.rank{r}.json.gz"), "wt", encoding="utf-8", compresslevel=1) as f:
            f.write(whole)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]), {int(a) for a in sys.argv[4:]})
