#!/usr/bin/env python3
"""Traces of many ranks, made here: who is late is known, and clocks, streams, files and folders are as jobs leave them.
Each rank computes, joins an exchange of gradients and ends with the others; every scenario is analysed at several sizes:
as a folder, as a profile with all rows (import), and as one with summaries (reduce). All three give the same answer.
Usage: many_ranks.py GPUPROF [RANKS...]"""
import json
import os
import re
import subprocess
import sys
import tempfile

from rank_jobs import Job, LargerBatch, LateHost, MoreWork, OtherStreams, Overlapping, Parallel, TwoGroups, Unmarked


def analyze(gpuprof, *paths):
    done = subprocess.run([gpuprof, "analyze", "--json", *paths], capture_output=True, text=True,
                          timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def answer(told):
    """What must not depend on the way: the verdict, the findings, the steps and the row of each rank."""
    warnings = {w["code"]: w["text"] for w in told["health"]["warnings"] if w["code"] in ("files-left-out", "ranks-missing")}
    return {**{key: told.get(key) for key in ("verdict", "steps", "gpu", "breakdown_ms", "ranks", "rank_groups", "late_rank", "findings",
                                              "cannot_tell")},
            "warnings": warnings}


def differs(gpuprof, folder, told):
    """What the two kinds of profiles say otherwise than the folder; None: nothing."""
    for command in "import", "reduce":
        with tempfile.TemporaryDirectory(prefix="gpuprof-ranks-") as beside:
            profile = os.path.join(beside, "job.gpuprof")
            done = subprocess.run([gpuprof, command, folder, "-o", profile], capture_output=True, text=True, timeout=600)
            if done.returncode:
                return f"{command}: status {done.returncode}: {done.stderr.strip()}"
            if os.listdir(beside) != ["job.gpuprof"]:
                return f"{command} leaves {os.listdir(beside)}"
            one, other = answer(told), answer(analyze(gpuprof, profile))
        wrong = [f"{key}: {one[key]} != {other[key]}"[:1500] for key in one if one[key] != other[key]]
        if wrong:
            return f"{command}: " + "; ".join(wrong)
    return None


def straggler(told):
    """What is said of late ranks: a finding's sentence; else None."""
    return next((f["summary"] for f in told["findings"] if f["rule"] == "straggler"), None)


def silence(told):
    """Why the rule says nothing."""
    return next((c["missing"] for c in told["cannot_tell"] if c["rule"] == "straggler"), "")


def warned(told, code):
    return next((w["text"] for w in told["health"]["warnings"] if w["code"] == code), "")


def one_late(n, folder):
    Job(n, late=lambda r, s: 1500 if r == n - 3 else 0).write(folder)
    return lambda t: f"rank {n - 3} is late" in (straggler(t) or "")


def reason(kind, *words):
    """One rank is late for a reason: the sentence says it, beside a rank that is not late."""

    def scenario(n, folder):
        kind(n, late=lambda r, s: 1500 if r == 2 else 0).write(folder)

        def right(told):
            said = straggler(told) or ""
            more = re.search(r"; beside rank \d+ .*?(\d\.\d\d) ms more", said)
            beside = told["late_rank"]
            longer = max(beside[k][0] - beside[k][1] for k in ("compute_ms", "idle_ms"))
            return ("rank 2 is late" in said and all(w in said for w in words) and more and 1.4 < float(more.group(1)) < 1.6
                    and beside["rank"] == 2 and abs(longer - float(more.group(1))) < 0.006)

        return right

    scenario.__name__ = f"reason_{kind.__name__}"
    return scenario


def late_node(n, folder):
    half = n // 4
    Job(n, late=lambda r, s: 1500 if half <= r < 2 * half else 0).write(folder, where=lambda r: f"node{r // half}")
    return lambda t: f"ranks {half} to {2 * half - 1} are late together" in (straggler(t) or "")


def in_turns(n, folder):
    Job(n, late=lambda r, s: 1500 if r == s % n else 0).write(folder)
    return lambda t: straggler(t) is None


def punctual(n, folder):
    Job(n).write(folder)
    return lambda t: straggler(t) is None and not warned(t, "ranks-missing")


def missing(n, folder):
    """The late rank is one of those that are missing: nobody is accused, nobody acquitted."""
    gone = {1, n - 1}
    Job(n, late=lambda r, s: 4000 if r == n - 1 else 0).write(folder, [r for r in range(n) if r not in gone])
    return lambda t: (straggler(t) is None and "are missing" in silence(t)
                      and warned(t, "ranks-missing").startswith(f"{n - 2} of the job's {n} ranks are here"))


def two_cycles(n, folder):
    Job(n, late=lambda r, s: 1500 if r == 2 else 0).write(folder, where=lambda r: "cycle0")
    Job(n, start_us=9e9, seed=2).write(folder, where=lambda r: "cycle1")
    return lambda t: "rank 2 is late" in (straggler(t) or "") and len(t["ranks"]) == n


def leftovers(n, folder):
    Job(n, late=lambda r, s: 1500 if r == 1 else 0).write(folder)
    Job(3, start_us=5e9, seed=3, name="older").write(folder)
    return lambda t: "rank 1 is late" in (straggler(t) or "") and "older" in warned(t, "files-left-out")


def among_strangers(n, folder):
    """Files of others, recorded years apart, before it by their names: the answer is that of the job alone."""
    Job(n, late=lambda r, s: 1500 if r == 1 else 0).write(folder)
    alone = analyze(sys.argv[1], folder)
    for k in range(12):
        Job(1, start_us=1e9 + 4e13 * (k + 1), seed=k, name=f"foreign{k}").write(folder)

    def right(told):
        same = [k for k in alone if k not in ("source", "health")]
        return all(told[k] == alone[k] for k in same) and "foreign11" in warned(told, "files-left-out")

    return right


def other_streams(n, folder):
    OtherStreams(n, late=lambda r, s: 1500 if r == 3 else 0).write(folder)
    return lambda t: "rank 3 is late" in (straggler(t) or "") and len(t["ranks"]) == n


def damaged(n, folder):
    Job(n, late=lambda r, s: 1500 if r == 1 else 0).write(folder)
    last = os.path.join(folder, f"train.rank{n - 1}.json.gz")
    with open(last, "rb") as f:
        part = f.read()[:900]
    with open(last, "wb") as f:
        f.write(part)
    open(os.path.join(folder, "empty.json"), "w", encoding="utf-8").close()
    return lambda t: (len(t["ranks"]) == n - 1 and os.path.basename(last) in warned(t, "files-left-out")
                      and "empty.json" in warned(t, "files-left-out") and warned(t, "ranks-missing"))


def ends_together(folder, n):
    """In the exported trace all ranks are on one clock: an exchange ends on all of them at one time."""
    done = subprocess.run([sys.argv[1], "export", folder, "--format", "chrome", "-o", os.path.join(folder, "all.json")], capture_output=True, text=True,
                          check=False, timeout=600)
    if done.returncode != 0:
        print(done.stderr)
        return False
    with open(os.path.join(folder, "all.json"), encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    os.unlink(os.path.join(folder, "all.json"))
    ends = {}
    for e in events:
        if e.get("cat") == "kernel" and e["name"].startswith("nccl"):
            ends.setdefault(e["pid"], []).append(e["ts"] + e["dur"])
    places = list(zip(*(sorted(v) for v in ends.values())))
    return len(ends) == n and len(places) > 4 and all(max(p) - min(p) < 50 for p in places)


def clocks(n, folder):
    job = Job(n, late=lambda r, s: 1500 if r == 1 else 0)
    job.write(folder)
    return lambda t: (all(abs(r["clock_offset_ms"] - job.offset_us[r["rank"]] / 1e3) < 0.05 for r in t["ranks"])
                      and (n > 64 or ends_together(folder, n)))


def overlapping(n, folder):
    Overlapping(n, late=lambda r, s: 1500 if r == 2 else 0).write(folder)
    return lambda t: ("rank 2 is late" in (straggler(t) or "") and len(t["ranks"]) == n
                      and all(r["wait_exposed_ms"] < r["wait_ms"] for r in t["ranks"] if r["rank"] != 2))


def unmarked(n, folder):
    Unmarked(n, late=lambda r, s: 1500 if r == 1 else 0).write(folder)
    return lambda t: "rank 1 is late" in (straggler(t) or "") and t["steps"]["source"].startswith("detected")


def kinds(told, n):
    """Whether the three kinds of groups are there, each with as many groups and ranks as the job has."""
    wanted = {"TENSOR_MODEL_PARALLEL_GROUP": (n // 2, 2, "0, 1"), "PIPELINE_MODEL_PARALLEL_GROUP": (n // 2, 2, f"0, {n // 2}"),
              "DATA_PARALLEL_GROUP": (4, n // 4, "0, 2")}
    found = {g["name"]: (g["groups"], g["ranks"], g["first_ranks"][:len(wanted[g["name"]][2])]) for g in told["rank_groups"]}
    return found == wanted


def same_clock(told, job):
    return all(abs(r["clock_offset_ms"] - job.offset_us[r["rank"]] / 1e3) < 0.05 for r in told["ranks"])


def bubble_ms(told):
    """What the stages of the pipeline wait for each other: the same whether or not a rank is late."""
    return next(f["saves_ms"]["high"] for f in told["findings"] if f["rule"] == "pipeline-bubble")


def groups_late(n, folder):
    """One rank is late in its tensor-parallel pair; its partner, the other stage and both data-parallel groups wait for it."""
    job = Parallel(n, late=lambda r, s: 1500 if r == n - 3 else 0)
    job.write(folder)
    return lambda t: (f"rank {n - 3} is late" in (straggler(t) or "") and kinds(t, n) and same_clock(t, job) and bubble_ms(t) < 3
                      and all(r["late_ms"] < 0.2 for r in t["ranks"] if r["rank"] != n - 3))


def groups_in_turn(n, folder):
    """A rank that is late in both groups is charged in both: each time anew."""
    TwoGroups(n, late=lambda r, s: 1500 if r == 3 else 0).write(folder)
    return lambda t: ("rank 3 is late" in (straggler(t) or "") and {g["name"] for g in t["rank_groups"]} == {"default_pg", "fsdp"}
                      and abs(t["ranks"][3]["late_ms"] - 1.5) < 0.1 and all(abs(g["late_ms"] - 0.75) < 0.1 for g in t["rank_groups"]))


def groups_pair(n, folder):
    """Both ranks of a tensor-parallel pair are late: each in a data-parallel group of its own."""
    Parallel(n, late=lambda r, s: 1500 if r in (2, 3) else 0).write(folder)
    return lambda t: "ranks 2 to 3 are late together" in (straggler(t) or "") and kinds(t, n)


def groups_punctual(n, folder):
    """The stages of a pipeline wait for each other. None of them is late."""
    job = Parallel(n)
    job.write(folder)
    return lambda t: (straggler(t) is None and kinds(t, n) and same_clock(t, job)
                      and t["findings"][0]["rule"] == "pipeline-bubble" and bubble_ms(t) < 3)


SCENARIOS = [one_late, late_node, in_turns, punctual, missing, two_cycles, leftovers, among_strangers, other_streams, damaged, clocks, overlapping,
             unmarked, groups_late, groups_in_turn, groups_pair, groups_punctual,
             reason(Job, "the same kernels take"),
             reason(LargerBatch, "more thread blocks"), reason(MoreWork, "runs 8 kernels per step instead of 4"),
             reason(LateHost, "its GPU idles", "in 'decode_images'")]


def of_one_rank(gpuprof, n):
    """--rank: the same rank is analysed by all three ways; one that is not here, or has a summary alone, is refused."""
    asked = str(n - 3)
    with tempfile.TemporaryDirectory(prefix="gpuprof-ranks-") as folder, tempfile.TemporaryDirectory(prefix="gpuprof-ranks-") as beside:
        one_late(n, folder)
        told = answer(analyze(gpuprof, folder, "--rank", asked))
        wrong = [] if [r["rank"] for r in told["ranks"] if r["analysed"]] == [int(asked)] else [f"analysed: {told['ranks']}"]
        for command, options, later in ("import", [], ["--rank", asked]), ("reduce", ["--rank", asked], []):
            profile = os.path.join(beside, f"{command}.gpuprof")
            subprocess.run([gpuprof, command, folder, "-o", profile, *options], check=True, capture_output=True, timeout=600)
            if answer(analyze(gpuprof, profile, *later)) != told:
                wrong.append(f"{command} differs")
        for path, rank in (folder, str(n)), (profile, "0"), (profile, "x"), (profile, ""):
            done = subprocess.run([gpuprof, "analyze", path, "--rank", rank], capture_output=True, text=True, timeout=600)
            if done.returncode != 2 or len(done.stderr.splitlines()) != 1 or done.stdout:
                wrong.append(f"rank '{rank}' of {os.path.basename(path)}: {done.returncode} {done.stderr}")
    print(f"{'FAIL' if wrong else 'ok  '} {n} ranks: one of them is asked for {'; '.join(wrong)}", flush=True)
    return bool(wrong)


def main():
    gpuprof, sizes = sys.argv[1], [int(n) for n in sys.argv[2:]] or [8, 64]
    failed = 0
    for n in sizes:
        failed += of_one_rank(gpuprof, n)
        for scenario in SCENARIOS:
            with tempfile.TemporaryDirectory(prefix="gpuprof-ranks-") as folder:
                right = scenario(n, folder)
                told = analyze(gpuprof, folder)
                good, other = right(told), differs(gpuprof, folder, told)
            failed += not good or bool(other)
            print(f"{'ok  ' if good and not other else 'FAIL'} {n} ranks: {scenario.__name__}"
                  + ("" if good else f": {straggler(told)}; {silence(told)}; {told['health']['warnings']}")
                  + (f": {other}" if other else ""), flush=True)
    print(f"{len(sizes) * (len(SCENARIOS) + 1) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
