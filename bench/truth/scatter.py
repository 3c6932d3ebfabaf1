"""What the runs of one program say about a saving if they differ among themselves: a prediction cannot be judged more finely."""

WIDE_POINTS = 10 # of the step: reruns that scatter by more than this cannot decide about 2 or 3 points


def saved_range(base, with_it):
    """Least and largest saving, in percent of the step, over all pairs of a run without and a run with the change."""
    return 100 * (1 - max(with_it) / min(base)), 100 * (1 - min(with_it) / max(base))


def overlaps(r):
    """True if the predicted interval and the measured range have a value in common. For a bound: true if one pair of runs respects it."""
    if r["mid"] is None:
        return r["bound"] is not None and r["measured_low"] <= r["bound"] + 1
    return r["low"] <= r["measured_high"] and r["measured_low"] <= r["high"]


def undecided(r):
    """True if the prediction is neither a hit nor a miss: the runs scatter widely, and some of them agree with it."""
    return r["measured_high"] - r["measured_low"] > WIDE_POINTS and overlaps(r)


def said(rows):
    """Returns a sentence for the summary."""
    rows = [r for r in rows if r["mid"] is not None]
    if not rows:
        return []
    wide = [r for r in rows if r["measured_high"] - r["measured_low"] > WIDE_POINTS]
    off = [r for r in rows if not r["covered"]]
    return [f"All predictions: the interval holds the measured median in {len(rows) - len(off)} of {len(rows)}, and shares a value with "
            f"the range of the runs in {sum(map(overlaps, rows))}. In {len(wide)} this range is wider than {WIDE_POINTS} points. "
            f"{sum(map(undecided, off))} of the {len(off)} that do not hold the median are undecided for that reason."]
