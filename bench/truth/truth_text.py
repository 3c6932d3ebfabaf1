"""Writes what truth.py has judged: the summary and the misses as Markdown, and a row for each prediction as data."""
import statistics

import scatter

HEAD = ("| GPU | case | change | class | step ms | predicted % | interval | measured % | its runs | "
        "error, points | in interval | ranges overlap |\n|---|---|---|---|---|---|---|---|---|---|---|---|")
OF_RUNS = ("`its runs` is the least and the most that a pair of runs measured, one without and one with the change. "
           "`in interval` asks whether the predicted interval holds what the medians say, `ranges overlap` whether it holds what some pair says.")


def line(r):
    head = (f"| {r['model']} | {r['case']} | {r['what']} (`{r['setting']}`) | {r['class']} | "
            f"{r['step']:.2f} | ")
    measured = f"{r['measured']:.1f} | {r['measured_low']:.1f} to {r['measured_high']:.1f} | "
    if r["mid"] is None and r.get("bound") is None:
        return head + f"not predicted | | {measured}| | |"
    judged = f"{'yes' if r['covered'] else 'no'} | {'yes' if scatter.overlaps(r) else 'no'} |"
    if r["mid"] is None:
        return head + f"at most {r['bound']:.1f} | | {measured}| {judged}"
    return head + f"{r['mid']:.1f} | {r['low']:.1f} to {r['high']:.1f} | {measured}{r['error']:+.1f} | {judged}"


def cells(row):
    """Splits a row of Markdown into its cells."""
    return [c.strip().replace("`", "") for c in row.strip().strip("|").split("|")]


def table(judged):
    """Returns lines of tab-separated values: what was planted (one defect, several, nothing), then the columns of HEAD."""
    out = ["\t".join(["planted", *cells(HEAD.split("\n", maxsplit=1)[0])])]
    for kind in ("one", "several", "nothing", "drawn"):
        for j in (j for j in judged if j["case"].kind == kind):
            said = [f"{j['case'].rule} was not advised: {j['missing']}"] if j["missing"] else []
            said += [j["why_not"]] if j["why_not"] else []
            said += ["the first recommendation was not the best"] if j["hit"] is False else []
            out += ["\t".join([kind, *cells(line(r))]) for r in j["rows"]]
            out += ["\t".join([kind, j["model"], j["case"].name, s]) for s in said]
    return out


def spread(errors):
    return (f"median error {statistics.median(errors):.1f} points of step time, "
            f"worst {max(errors):.1f}")


def summary(judged):
    rows = [r for j in judged for r in j["rows"] if r["mid"] is not None]
    said = [r for r in rows if r["what"] != "not advised"]
    out = []
    exact = [abs(r["error"]) for r in said if r["class"] == "structural"]
    wide = [r["covered"] for r in said if r["class"] in ("kernel-model", "rerun-decides")]
    pairs = [abs(r["error"]) for r in said if r["class"] == "stacked"]
    if exact:
        out.append(f"Structural changes: {len(exact)} predictions, {spread(exact)}; "
                   f"{sum(e <= 2 for e in exact)} within 2 points.")
    if wide:
        out.append(f"Changes of kernels: the 80 % interval covers {sum(wide)} of {len(wide)}.")
    bounds = [r["covered"] for j in judged for r in j["rows"] if r.get("bound") is not None]
    if bounds:
        out.append(f"Bounds, where how much can be had is not known: {sum(bounds)} of {len(bounds)} "
                   "hold (within 1 point).")
    if pairs:
        out.append(f"Several changes at once: {len(pairs)} predictions, {spread(pairs)}; "
                   f"{sum(e <= 3 for e in pairs)} within 3 points.")
    out += scatter.said(said)
    hits = [j["hit"] for j in judged if j["hit"] is not None and j["case"].kind != "nothing"]
    if hits:
        out.append(f"First recommendation the best one, or within 2 points of it: {sum(hits)} of "
                   f"{len(hits)}.")
    none = [r for j in judged if j["case"].kind == "nothing" for r in j["rows"]
            if r["setting"] in j["case"].settings]
    if none:
        quiet = sum(r["what"] == "not advised" and r["measured"] < 2 for r in none)
        out.append(f"Defects without effect: {quiet} of {len(none)} not advised.")
    hold = [j["holdout"] for j in judged if j["holdout"] is not None and j["holdout"] >= 0]
    if hold:
        p95 = [j["p95"] for j in judged if j["holdout"] is not None and j["holdout"] >= 0]
        out.append(f"Steps replayed with another step's durations: median error "
                   f"{statistics.median(hold):.1f} %, 95th percentile {statistics.median(p95):.1f} % "
                   f"(medians over {len(hold)} recordings).")
    return out


def misses(r):
    limit = {"structural": 2, "stacked": 3}.get(r["class"])
    return abs(r["error"]) > limit if limit else not r["covered"]


def apart(rows):
    """Splits rows that are off into misses and rows that the runs do not decide."""
    return [r for r in rows if not scatter.undecided(r)], [r for r in rows if scatter.undecided(r)]


def undecided_text(rows):
    return ["## Where the runs do not decide", "",
            f"As far off by the median of the runs, but the runs of one program differ so much that a pair of them agrees with the "
            f"prediction: their range is wider than {scatter.WIDE_POINTS} points and overlaps the interval. These rows are neither "
            f"hits nor misses. The figures above that count points count them.", "", HEAD, *map(line, rows), ""] if rows else []


def text(o, judged):
    """Returns lines of Markdown: the figures that docs/accuracy.md quotes, and the misses."""
    what = ("programs drawn at random, with no fault planted" if o.drawn else "planted defects") + \
        (", on the virtual GPU" if all(j["virtual"] for j in judged) else f", on {judged[0]['model']}")
    out = [f"{len(judged)} recordings of {what}; each rerun {o.repeats} times with and without each change, in turn, once more where "
           "these differ by over 5 %; medians are compared. Percent and points are shares of the step.", "",
           *[f"- {s}" for s in summary(judged)], ""]
    rows = [r for j in judged for r in j["rows"]]
    missed, open_rows = apart([r for r in rows if (r["mid"] is not None and misses(r)) or
                               (o.drawn and r.get("bound") is not None and not r["covered"])])
    if missed:
        out += ["## Where they miss", "",
                "Structural changes more than 2 points off, several at once more than 3, others outside of their interval, "
                f"and bounds that the rerun exceeds by more than 1 point. {OF_RUNS}", "", HEAD, *map(line, missed), ""]
    if o.drawn:
        out += ["What was run:", "", *[f"- {j['case'].name} on {j['model']}: `{j['case'].trainer} {j['case'].args}`"
                                       for j in judged if any(r in j["rows"] for r in missed)], ""]
    return out + undecided_text(open_rows)
