#!/usr/bin/env python3
"""The words of bench/truth/truth.py: each row has the range of its runs, and a row whose runs scatter too widely to
contradict the prediction is undecided, not missed."""
import os
import sys
from types import SimpleNamespace

from support import Checks

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "truth"))
import scatter  # noqa: E402
import truth_text  # noqa: E402


def row(mid, half, measured, least, most):
    return {"model": "h100", "case": "a", "what": "rule", "setting": "s=1", "class": "structural", "step": 10.0, "measured": measured,
            "measured_low": least, "measured_high": most, "mid": mid, "low": mid - half, "high": mid + half,
            "error": mid - measured, "covered": mid - half <= measured <= mid + half}


def main():
    checks = Checks()
    checks.check(scatter.saved_range([10, 12.5], [5, 6]) == (40.0, 60.0), "least and most over all pairs", "")
    hit, missed, wide, far = row(20, 1, 20.5, 19, 21), row(20, 1, 30, 29, 31), row(20, 1, 30, 18, 33), row(60, 1, 30, 18, 33)
    bound = {**wide, "mid": None, "bound": 17.5, "covered": False}
    checks.check([scatter.overlaps(r) for r in (hit, missed, wide, far, bound)] == [True, False, True, False, True], "overlaps", "")
    checks.check([scatter.undecided(r) for r in (hit, missed, wide, far, bound)] == [False, False, True, False, True],
                 "undecided is what scatters widely and may agree", "")
    rows = [hit, missed, wide, far]
    judged = [{"case": SimpleNamespace(name="a", kind="one", rule=None), "model": "h100", "virtual": True, "rows": rows, "why_not": None,
               "holdout": None, "p95": None, "hit": True, "missing": None}]
    out = "\n".join(truth_text.text(SimpleNamespace(repeats=2, drawn=0), judged))
    before, behind = out.split("## Where the runs do not decide")
    checks.check("| 20.5 |" not in out and "29.0 to 31.0" in before and before.count("18.0 to 33.0") == 1, "misses, and no hits", out)
    checks.check(behind.count("18.0 to 33.0") == 1 and "-10.0" in behind, "undecided rows stand apart", behind)
    checks.check("median in 1 of 4" in out and "runs in 2" in out and "In 2 this range is wider than 10 points. 1 of the 3" in out,
                 "the summary counts them", out)
    table = [l.split("\t") for l in truth_text.table(judged)]
    checks.check({len(l) for l in table} == {13} and table[0][8:10] == ["measured %", "its runs"], "a value in each column", str(table))
    checks.done()


if __name__ == "__main__":
    main()
