"""The same steps seen by the PyTorch profiler and by us: counts, kernel time, step time; and our Chrome trace of them."""
import os
import statistics

TITLE = "kernel counts and times against Kineto's of the same run, and our Chrome trace read back"
ORDER, LIMIT_S = 30, 110


def run(box):
    python, _ = box.python()
    script = os.path.join(box.source, "tests", "gpu", "torch_kineto.py")
    trace, ours = box.path("kineto-theirs.json"), box.path("kineto-ours.json")
    # Steps 10 to 20 carry the same marks in both: theirs are ProfilerStep ranges, which our hook also sees.
    profile, _ = box.profile("kineto", [python, script, trace], 100)
    box.run([box.gpuprof, "export", "-f", profile, "-o", ours])
    theirs, mine, back = box.analyze(trace), box.analyze(profile), box.analyze(ours)
    first, last = window(box, profile)
    count, total = box.ask(profile, "SELECT count(*), sum(end_ns - start_ns) / 1e6 FROM kernel WHERE start_ns BETWEEN "
                                    f"{first} AND {last}")[0]
    compare(box, "kernels in the profiled steps", count, theirs["counts"]["kernels"], "kernels")
    box.row("kernel time in the profiled steps, ours", total, "ms")
    compare(box, "step time in them", statistics.median(steps_within(box, profile, first, last)), theirs["steps"]["median_ms"], "ms")
    compare(box, "kernels in our Chrome trace, read back", back["counts"]["kernels"], mine["counts"]["kernels"], "kernels")
    compare(box, "compute share in our Chrome trace, read back", back["gpu"]["compute_pct"], mine["gpu"]["compute_pct"], "%")
    lint = box.run([box.gpuprof, "lint-trace", ours], good=None)
    box.row("lint-trace of ours: status", lint.status, "", "0", lint.status == 0)


def window(box, profile):
    """Where the torch.profiler block lay: its script marks it with the range 'kineto window'."""
    rows = box.ask(profile, "SELECT r.start_ns, r.end_ns FROM range r JOIN string s ON s.id = r.name WHERE s.text = 'kineto window'")
    if not rows:
        raise RuntimeError("the profile holds no range 'kineto window'")
    return rows[0]


def steps_within(box, profile, first, last):
    """Lengths of our steps between those two times, in ms. Their marks begin and end a little outside of the range."""
    rows = box.ask(profile, "SELECT (to_ns - from_ns) / 1e6 FROM step "
                            f"WHERE start_ns >= {first} - 1000000 AND end_ns <= {last} + 1000000")
    if not rows:
        raise RuntimeError("the profile has no step in the range 'kineto window'")
    return [ms for ms, in rows]


def compare(box, what, ours, theirs, unit):
    off = 100 * (ours / theirs - 1) if theirs else float("inf")
    box.row(f"{what}: ours", ours, unit)
    box.row(f"{what}: theirs", theirs, unit)
    box.row(f"{what}: difference", off, "%", "within 0.5 %", abs(off) <= 0.5)
