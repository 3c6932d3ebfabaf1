"""Jobs of many ranks, as PyTorch's profiler records them: one trace for each rank. Each class is another way of being a job."""
import gzip
import json
import os
import random

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


class TwoGroups(Job):
    """All ranks belong to two groups, as with FSDP, and exchange in one and the other in turn."""

    def kernel(self, rank, number, name, ts, dur, stream, **more):
        if name.startswith("nccl"):
            self.turn = getattr(self, "turn", [0] * self.ranks)
            group = ("default_pg", "fsdp")[self.turn[rank] % 2]
            self.turn[rank] += 1
            more = {**more, "Collective name": "allreduce", "Group size": self.ranks, "Process Group Name": group,
                    "Process Group Description": group, "Process Group Ranks": str(list(range(self.ranks)))}
        super().kernel(rank, number, name, ts, dur, stream, **more)


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
