#!/usr/bin/env python3
"""Traces of many ranks, made here: who is late is known, and clocks, streams, files and folders are as jobs leave them.
Each rank computes, joins an exchange of gradients and ends with the others; every scenario is analysed at several sizes:
as a folder, as a profile with all rows (import), and as one with summaries (reduce). All three give the same answer.
Usage: many_ranks.py GPUPROF [RANKS...]"""
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile

STEPS, EXCHANGES = 8, 4
COMPUTE_US, TRANSFER_US, LAUNCH_US = 2000, 300, 8


class Job:
    """A run: `late` says by how many us a rank comes late to the exchanges of a step."""

    def __init__(self, ranks, late=lambda rank, step: 0, world=None, start_us=1e9, seed=1, name="train"):
        self.ranks, self.late, self.world, self.start_us, self.name = ranks, late, world or ranks, start_us, name
        self.random = random.Random(seed)
        self.offset_us = [self.random.uniform(-5e5, 5e5) if r else 0 for r in range(ranks)]
        self.events = [[] for _ in range(ranks)]
        self.run()

    def run(self):
        at = [self.start_us] * self.ranks
        number = 0
        for step in range(STEPS):
            began = list(at)
            for part in range(EXCHANGES):
                for r in range(self.ranks):
                    work, late = COMPUTE_US * self.random.uniform(0.997, 1.003), self.late(r, step) / EXCHANGES
                    number += 1
                    self.compute(r, number, f"{self.name}_layer_{part}_kernel", at[r], work, late)
                    at[r] += work + late
                end = max(at) + TRANSFER_US
                for r in range(self.ranks):
                    number += 1
                    self.kernel(r, number, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                                at[r] + 2, end - at[r] - 2, self.stream(r))
                    at[r] = end + 2
            for r in range(self.ranks):
                self.events[r].append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}",
                                       "pid": 100, "tid": 100, "ts": began[r] - 50, "dur": at[r] - began[r]})

    def stream(self, rank):
        return 20

    def compute(self, rank, number, name, ts, work, late):
        """What the rank does before an exchange: here its kernels take so much longer."""
        self.kernel(rank, number, name, ts, work + late, 7)

    def kernel(self, rank, number, name, ts, dur, stream, **more):
        self.events[rank] += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": ts - LAUNCH_US,
             "dur": 4, "args": {"correlation": number}},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": dur,
             "args": {"device": 0, "context": 1, "stream": stream, "correlation": number, "grid": [64, 1, 1],
                      "block": [256, 1, 1], **more}}]

    def document(self, rank):
        shift = self.offset_us[rank]
        events = [{**e, "ts": round(e["ts"] + shift, 3), "dur": round(e["dur"], 3)} for e in self.events[rank]]
        return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB",
                                                          "totalGlobalMem": 85 << 30, "computeMajor": 8,
                                                          "computeMinor": 0, "numSms": 108}],
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": self.world}, "traceEvents": events}

    def write(self, folder, ranks=None, where=lambda rank: ""):
        for rank in ranks if ranks is not None else range(self.ranks):
            at = os.path.join(folder, where(rank))
            os.makedirs(at, exist_ok=True)
            with gzip.open(os.path.join(at, f"{self.name}.rank{rank}.json.gz"), "wt", compresslevel=1) as f:
                json.dump(self.document(rank), f)


class OtherStreams(Job):
    """Half of the ranks made one more stream before."""

    def stream(self, rank):
        return 20 + rank % 2


class Parallel(Job):
    """Tensor-parallel pairs, two stages of a pipeline, data-parallel groups of what is alike, as Megatron numbers them. All
    exchanges of a rank run on one stream, whose number differs; PyTorch names the groups and numbers their collectives."""

    MICRO_BATCHES, LAYERS = 2, 2

    def run(self):
        self.at, self.number, self.sequence = [self.start_us] * self.ranks, 0, {}
        half, ranks = self.ranks // 2, range(self.ranks)
        stages = [list(ranks[:half]), list(ranks[half:])]
        for step in range(STEPS):
            began = list(self.at)
            for _ in range(self.MICRO_BATCHES):
                for way in (0, 1), (1, 0):  # forward, then backward
                    for stage in way:
                        self.layers(stages[stage], step)
                        if stage == way[0]:
                            for r in stages[stage]:
                                self.send(r, (r + half) % self.ranks)
            for stage in stages:
                for r in stage[:2]:
                    self.join("DATA_PARALLEL_GROUP", stage[r % 2::2], TRANSFER_US)
            for r in ranks:
                self.events[r].append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 100,
                                       "tid": 100, "ts": began[r] - 50, "dur": self.at[r] - began[r]})

    def layers(self, stage, step):
        for part in range(self.LAYERS):
            for r in stage:
                work = COMPUTE_US / 8 * self.random.uniform(0.997, 1.003)
                work += self.late(r, step) / (2 * self.MICRO_BATCHES * self.LAYERS)
                self.number += 1
                self.kernel(r, self.number, f"{self.name}_layer_{part}_kernel", self.at[r], work, 7)
                self.at[r] += work
            for r in stage[::2]:
                self.join("TENSOR_MODEL_PARALLEL_GROUP", [r, r + 1], 20)

    def join(self, what, group, transfer, names=("allreduce", "allreduce"), kernel="AllReduce_Sum_f32_RING_LL"):
        end = max(self.at[r] for r in group) + transfer
        at = self.sequence[what, tuple(group)] = self.sequence.get((what, tuple(group)), 0) + 1
        for r, name in zip(group, names if len(group) == 2 else [names[0]] * len(group)):
            self.number += 1
            peer = group[1] if r == group[0] else group[0]
            more = {"send": {"Dst Rank": peer}, "recv": {"Src Rank": peer}}.get(name, {"Seq": at})
            listed = sorted(group)
            self.kernel(r, self.number, f"ncclDevKernel_{kernel}(ncclDevKernelArgsStorage<4096ul>)", self.at[r] + 2,
                        end - self.at[r] - 2, 20 + r % 3, **{
                            "Collective name": name, "Group size": len(group), "Process Group Description": what,
                            "Process Group Name": f"{what} {listed[0]}", "In msg nelems": 1 << 20, "dtype": "Float",
                            "Process Group Ranks": listed if r % 2 else str(listed), **more})
            self.at[r] = end + 2

    def send(self, source, target):
        self.join("PIPELINE_MODEL_PARALLEL_GROUP", [source, target], 30, ("send", "recv"), "SendRecv")


class LateHost(Job):
    """The late rank's host has something else to do before it launches."""

    def compute(self, rank, number, name, ts, work, late):
        if late:
            self.events[rank].append({"ph": "X", "cat": "cpu_op", "name": "decode_images", "pid": 100, "tid": 100, "ts": ts - 2,
                                      "dur": late - LAUNCH_US, "args": {}})
        self.kernel(rank, number, name, ts + late, work, 7)


class LargerBatch(Job):
    """The late rank's kernels have more to do, each of them."""

    def compute(self, rank, number, name, ts, work, late):
        self.kernel(rank, number, name, ts, work + late, 7, grid=[round(64 * (1 + late / work)), 1, 1])


class MoreWork(Job):
    """The late rank runs one kernel more."""

    def compute(self, rank, number, name, ts, work, late):
        self.kernel(rank, number, name, ts, work, 7)
        if late:
            self.kernel(rank, number + 10**6, "one_more_kernel", ts + work, late, 7)


class Overlapping(Job):
    """Each rank computes beside its exchanges, each one another part of the time."""

    def kernel(self, rank, number, name, ts, dur, stream, **more):
        super().kernel(rank, number, name, ts, dur, stream, **more)
        if name.startswith("nccl"):
            super().kernel(rank, number + 10**6, "beside_kernel", ts + dur * 0.1, dur * (0.1 + 0.5 * (rank % 5) / 5), 7)
            super().kernel(rank, number + 2 * 10**6, "beside_kernel", ts + dur * 0.8, dur * 0.5, 7)


class Unmarked(Job):
    """Nothing marks the steps; a rank in the middle has most work."""

    def document(self, rank):
        whole = super().document(rank)
        more = 3 if rank == self.ranks // 2 else 0
        events = [e for e in whole["traceEvents"] if e["cat"] != "user_annotation"]
        return {**whole, "traceEvents": [{**e, "dur": e["dur"] + more} if "layer" in e["name"] else e for e in events]}


def analyze(gpuprof, folder):
    done = subprocess.run([gpuprof, "analyze", "--json", folder], capture_output=True, text=True,
                          timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def answer(told):
    """What must not depend on the way: the verdict, the findings, the steps and the row of each rank."""
    warnings = {w["code"]: w["text"] for w in told["health"]["warnings"] if w["code"] in ("files-left-out", "ranks-missing")}
    return {**{key: told.get(key) for key in ("verdict", "steps", "gpu", "breakdown_ms", "ranks", "rank_groups", "findings",
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
            return "rank 2 is late" in said and all(w in said for w in words) and more and 1.4 < float(more.group(1)) < 1.6

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


def clocks(n, folder):
    job = Job(n, late=lambda r, s: 1500 if r == 1 else 0)
    job.write(folder)
    return lambda t: all(abs(r["clock_offset_ms"] - job.offset_us[r["rank"]] / 1e3) < 0.05 for r in t["ranks"])


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


SCENARIOS = [one_late, late_node, in_turns, punctual, missing, two_cycles, leftovers, other_streams, damaged, clocks, overlapping,
             unmarked, groups_late, groups_pair, groups_punctual,
             reason(Job, "the same kernels take"),
             reason(LargerBatch, "more thread blocks"), reason(MoreWork, "runs 8 kernels per step instead of 4"),
             reason(LateHost, "its GPU idles", "in 'decode_images'")]


def main():
    gpuprof, sizes = sys.argv[1], [int(n) for n in sys.argv[2:]] or [8, 64]
    failed = 0
    for n in sizes:
        for scenario in SCENARIOS:
            with tempfile.TemporaryDirectory(prefix="gpuprof-ranks-") as folder:
                right = scenario(n, folder)
                told = analyze(gpuprof, folder)
                good, other = right(told), differs(gpuprof, folder, told)
            failed += not good or bool(other)
            print(f"{'ok  ' if good and not other else 'FAIL'} {n} ranks: {scenario.__name__}"
                  + ("" if good else f": {straggler(told)}; {silence(told)}; {told['health']['warnings']}")
                  + (f": {other}" if other else ""), flush=True)
    print(f"{len(sizes) * len(SCENARIOS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
