"""Recordings in the forms of other tools, written here, so that a clone without ../shared tests the readers as well: traces
of PyTorch's profiler as of 2021 and of today, of one rank and of two, without a GPU, without a step; an export of Nsight
Systems. Usage of it alone: standins.py FOLDER. What is known of each is computed from its intervals, apart from gpuprof, in the columns of traces.tsv."""
import gzip
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz"))
import seeds  # noqa: E402

GEMM, NORM = "ampere_sgemm_128x128_tn", "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>"
ADD = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
       "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)")
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def union(spans):
    """The time that spans cover together."""
    total, reached = 0, None
    for start, end in sorted(spans):
        if reached is None or start > reached:
            total, reached = total + end - start, end
        elif end > reached:
            total, reached = total + end - reached, end
    return total


class Trace:
    """A trace of PyTorch's profiler; times in microseconds."""

    def __init__(self, pid=4242):
        self.pid, self.correlation, self.events, self.gpu, self.counts = pid, 0, [], [], {}
        self.add(ph="M", name="process_name", pid=pid, tid=0, args={"name": "python3"})
        self.add(ph="M", name="thread_name", pid=pid, tid=pid, args={"name": f"thread {pid} (python3)"})

    def add(self, **event):
        self.events.append(event)

    def host(self, cat, name, ts, dur, tid=None, **args):
        self.add(ph="X", cat=cat, name=name, pid=self.pid, tid=tid or self.pid, ts=ts, dur=dur, args=args)

    def launch(self, call, at, length=5.0):
        self.correlation += 1
        self.host("cuda_runtime", call, at, length, correlation=self.correlation, cbid=211)
        self.add(ph="s", id=self.correlation, pid=self.pid, tid=self.pid, ts=at, cat="ac2g", name="ac2g")
        return self.correlation

    def work(self, kind, name, at, dur, correlation, stream=7, **args):
        """Work of the GPU; kind is the trace's category."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.gpu.append((name, kind, at, at + dur))
        self.add(ph="X", cat=kind, name=name, pid=0, tid=stream, ts=at, dur=dur,
                 args={"device": 0, "context": 1, "stream": stream, "correlation": correlation, **args})
        self.add(ph="f", id=correlation, pid=0, tid=stream, ts=at, cat="ac2g", name="ac2g", bp="e")

    def kernel(self, name, call, at, dur, stream=7, **args):
        self.work("kernel", name, at, dur, self.launch("cudaLaunchKernel", call), stream,
                  **{"registers per thread": 64, "shared memory": 1024, "grid": [64, 2, 1], "block": [256, 1, 1], **args})

    def document(self, rank=None, ranks=1):
        header = {"schemaVersion": 1, "deviceProperties": [
            {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 42 * 10**9, "computeMajor": 8, "computeMinor": 0,
             "numSms": 108}], "record_shapes": 1, "with_stack": 1}
        if rank is not None:
            header["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": ranks}
        return {**header, "traceEvents": self.events, "traceName": "trace.json"}

    def known(self, first, never, late=None):
        """The columns of traces.tsv behind the file's name."""
        def of(wanted):
            return [(start, end) for name, kind, start, end in self.gpu if wanted(name, kind)]
        every, comm = of(lambda *_: True), of(lambda name, _: name == REDUCE)
        compute = of(lambda name, kind: kind == "kernel" and name != REDUCE)
        window = max(end for _, end in every) - min(start for start, _ in every)
        shares = [union(every), union(compute), union(comm), union(comm + compute) - union(compute)]
        return [str(len(self.events)), *(str(self.counts.get(k, 0)) for k in ("kernel", "gpu_memcpy", "gpu_memset")),
                *(f"{100 * ns / window:.4f}" for ns in shares), first, never, *([] if late is None else [str(late)])]


def loader_in_line():
    """Batches made by the training process, 12 of 20 ms: shapes, frames of Python, flows and counters as of today."""
    t, ops = Trace(), ((GEMM, "aten::addmm"), (NORM, "aten::native_batch_norm"), (ADD, "aten::add_"))
    for step in range(20):
        at = 1000.0 + 20000 * step
        t.host("user_annotation", f"ProfilerStep#{step}", at, 19990)
        t.host("python_function", "train.py(10): main", at, 19980, **{"Python id": 1, "Python parent id": None})
        t.host("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 10, 12000, **{"External id": step})
        t.work("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 12120, 300, t.launch("cudaMemcpyAsync", at + 12100, 330),
               bytes=19267584)
        for k in range(40):
            name, op = ops[k % 3]
            call, start = at + 12450 + 9 * k, at + 12700 + 152.5 * k
            t.host("cpu_op", op, call - 2, 8.5, **{"External id": k, "Ev Idx": k, "Input Dims": [[64, 512], [512, 512], []],
                                                  "Input type": ["float", "float", "Scalar"], "Concrete Inputs": ["", "", "1"]})
            t.kernel(name, call, start, 150.25)
            t.add(ph="s", id=k, pid=t.pid, tid=t.pid, ts=call, cat="fwdbwd", name="fwdbwd")
        t.work("gpu_memset", "Memset (Device)", at + 18900, 3, t.launch("cudaMemsetAsync", at + 12850))
        t.add(ph="C", name="GPU 0 memory", pid=0, tid=0, ts=at, args={"bytes": 1 << 30})
        t.add(ph="i", s="t", cat="cpu_instant_event", name="[memory]", pid=t.pid, tid=t.pid, ts=at,
              args={"Total Reserved": 2 << 30, "Device Type": 1, "Device Id": 0, "Bytes": 4096})
    return t


def launch_bound():
    """Kernels of 3 us, launched every 12 us."""
    t = Trace()
    for step in range(16):
        at = 1000.0 + 5000 * step
        t.host("user_annotation", f"ProfilerStep#{step}", at, 4990)
        for k in range(400):
            t.kernel(GEMM if k % 4 == 0 else ADD, at + 12 * k, at + 12 * k + 7, 3)
    return t


def of_2021(t):
    """The same as a bare list with the words of 2021; ids and processes are texts."""
    words = {"kernel": "Kernel", "cuda_runtime": "Runtime", "user_annotation": "user_annotation", "cpu_op": "Operator"}
    return [{**e, "cat": words.get(e["cat"], e["cat"]), "pid": str(e["pid"]), "tid": f"stream {e['tid']}" if e["pid"] == 0 else
             str(e["tid"])} for e in t.events if e["ph"] == "X"]


def rank(number, late, syncs):
    """One of two; the kernels of the late one take 6 ms longer, the other one waits in the collective. With syncs the trace
    also has the waits for events (enable_cuda_sync_events=True)."""
    t = Trace(pid=4200 + number)
    for step in range(16):
        at, own = 1000.0 + 30000 * step, 6000 * (number == late)
        t.host("user_annotation", f"ProfilerStep#{step}", at, 29990)
        for k in range(30):
            t.kernel(GEMM if k < 20 else NORM, at + 10 * k, at + 100 + (500 + own / 30) * k, 495 + own / 30)
        record, wait = t.launch("cudaEventRecord", at + 380, 3), t.launch("cudaStreamWaitEvent", at + 390, 3)
        if syncs:
            t.add(ph="X", cat="cuda_sync", name="Stream Wait Event", pid=0, tid=20, ts=at + 390, dur=0, args={
                "device": 0, "context": 1, "stream": 20, "correlation": wait, "wait_on_stream": 7,
                "wait_on_cuda_event_record_corr_id": record, "wait_on_cuda_event_id": 1})
        t.kernel(REDUCE, at + 400, at + 15102 + own, 14798 - own, stream=20,
                 **{"Collective name": "allreduce", "In msg nelems": 1 << 24, "Out msg nelems": 1 << 24, "dtype": "Float",
                    "Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]"})
        wait = t.launch("cudaDeviceSynchronize", at + 500, 29405)
        if syncs:
            t.add(ph="X", cat="cuda_sync", name="Context Sync", pid=0, tid=-1, ts=at + 500, dur=29405, args={
                "device": 0, "context": 1, "stream": -1, "correlation": wait, "wait_on_stream": -1,
                "wait_on_cuda_event_record_corr_id": -1, "wait_on_cuda_event_id": -1})
    return t


def without_gpu():
    t = Trace()
    for step in range(12):
        t.host("user_annotation", f"ProfilerStep#{step}", 1000.0 + 9000 * step, 8990)
        t.host("cpu_op", "aten::addmm", 1100.0 + 9000 * step, 8000, **{"Input Dims": [[8], [8, 8]], "Input type": ["float"] * 2})
    return t


def one_pass():
    """No step repeats: each kernel has another name and length."""
    t = Trace()
    for k in range(300):
        t.kernel(f"void layer_{k}<{'float' if k % 2 else 'half'}>(int)", 1000.0 + 40 * k, 1020.0 + 97 * k, 60 + k % 31)
    return t


def put(path, document):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with gzip.open(path, "wt", compresslevel=1) as f:
        json.dump(document, f)


def put_nsys(path):
    """Of the seeds; how many kernels, copies and memsets there are is asked of SQLite."""
    plain = path[:-3]
    seeds.nsys(plain)
    db = sqlite3.connect(plain)
    counts = [str(db.execute(f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{t}").fetchone()[0]) for t in ("KERNEL", "MEMCPY", "MEMSET")]
    db.close()
    with open(plain, "rb") as f, gzip.open(path, "wb") as to:
        to.write(f.read())
    os.unlink(plain)
    return ["", *counts, "", "", "", "", "-", "-"]


def make(folder):
    """Writes them all; rows as those of traces.tsv."""
    rows = []

    def trace(name, t, first, never, document=None, **known):
        put(os.path.join(folder, name), document or t.document(**known.pop("header", {})))
        rows.append([name, *t.known(first, never, **known)])

    trace("loader-in-line.json.gz", loader_in_line(), "num-workers", "cuda-graphs,straggler,exposed-communication")
    small = launch_bound()
    trace("launch-bound.json.gz", small, "cuda-graphs", "num-workers,tensor-cores,pin-memory")
    listed = of_2021(small)
    trace("launch-bound-2021.json.gz", small, "cuda-graphs", "num-workers,pin-memory", document=listed)
    rows[-1][1] = str(len(listed))
    for number in range(2):
        trace(f"two-ranks/rank{number}.json.gz", rank(number, 1, True), "-", "num-workers", header={"rank": number, "ranks": 2})
    rows.append(["two-ranks", "", "", "", "", "", "", "", "", "tensor-cores,straggler,exposed-communication", "num-workers", "1"])
    trace("without-syncs.json.gz", rank(0, 1, False), "-", "num-workers", header={"rank": 0, "ranks": 2})
    trace("one-pass.json.gz", one_pass(), "-", "num-workers")
    put(os.path.join(folder, "without-gpu.json.gz"), without_gpu().document())
    rows.append(["without-gpu.json.gz", *["-"] * 10])
    rows.append(["nsight.sqlite.gz", *put_nsys(os.path.join(folder, "nsight.sqlite.gz"))])
    return rows


if __name__ == "__main__":
    make(sys.argv[1])
