"""Small recordings in which every table and every field is used: what the mutator starts from. A training loop of ten
steps on two ranks, each with two streams, a loader and a collective."""
import os
import re
import sqlite3

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "..", "..", "analyzer", "profile", "schema.sql")
STEPS, STEP_NS, RANKS = 10, 8_000_000, 2
KERNELS = ["_Z11fill_kernelPfmf", "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_nt",
           "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_15add_kernelEEE",
           "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_warpsize2x2x1",
           "cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>",
           "void cudnn::batchnorm_bwtr_nhwc_semiPersist<float>"]
FACTS = {"source": "run", "usable_cores": "4", "cgroup_cpu_quota": "2.0", "cgroup_cpu_periods": "100",
         "cgroup_cpu_throttled_periods": "40", "start_realtime_ns": "1795255017043701624",
         "have": "kernels,copies,memory_kinds,memsets,api,sync,events,ranges,calls,loader,device,collectives,ranks,host",
         "framework": "pytorch", "command": "python3 train.py", "device_choice": "virtual:a100-80"}
FACTS_OF_RANK = {"cost.range_ns": "65", "cost.call_ns": "57", "env.CUDA_LAUNCH_BLOCKING": "1", "env.NCCL_DEBUG": "INFO",
                 "env.OMP_NUM_THREADS": "1", "env.NVIDIA_TF32_OVERRIDE": "0", "torch.version": "2.4.0",
                 "torch.settings": "num_workers", "torch.loader.where": "train.py:10", "torch.loader.num_workers": "2",
                 "torch.loader.batch_size": "32", "torch.weights.memory_format": "contiguous", "exe": "/usr/bin/python3"}


class Rows:
    """Rows of a profile by table; a text becomes its id where the schema wants one."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.text_factory = bytes
        with open(SCHEMA) as f:
            self.db.executescript(f.read())
        with open(os.path.join(os.path.dirname(SCHEMA), "store.h")) as f:
            version = re.search(r"STORE_SCHEMA_VERSION (\d+)", f.read()).group(1)
        self.db.execute(f"PRAGMA user_version = {version}")
        self.texts, self.next = {"": 0}, {}
        self.columns = {t: [c[1].decode() for c in self.db.execute(f"PRAGMA table_info({t})")] for t in self.tables()}
        self.db.execute("INSERT INTO string VALUES (0, '')")

    def tables(self):
        return [t.decode() for (t,) in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]

    def text(self, s):
        if s not in self.texts:
            self.texts[s] = len(self.texts)
            self.db.execute("INSERT INTO string VALUES (?, ?)", (self.texts[s], s))
        return self.texts[s]

    def put(self, table, **values):
        self.next[table] = self.next.get(table, 0) + 1
        values.setdefault("id", self.next[table])
        row = [self.text(v) if isinstance(v, str) else v for v in (values.get(c, 0) for c in self.columns[table])]
        self.db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
        return self.next[table]


class Rank:
    """One process: two threads, a GPU, two streams."""

    def __init__(self, rows, number):
        self.r, self.p, self.corr, self.host = rows, number + 1, 0, 0
        p = self.p
        rows.put("process", pid=100 * p, ppid=1, rank=number, local_rank=number, world_size=RANKS, start_ns=0,
                 end_ns=STEPS * STEP_NS, command="train.py", host="box", sealed=1)
        self.main = rows.put("thread", process=p, tid=100 * p, name="python3")
        self.worker = rows.put("thread", process=p, tid=100 * p + 1, name="pt_data_worker")
        self.device = rows.put("device", process=p, ordinal=number, name="NVIDIA A100-SXM4-80GB", uuid=f"GPU-{p}", cc_major=8,
                               sm_count=108, clock_khz=1410000, memory_bytes=80 << 30, memory_bytes_per_s=2039 * 10**9,
                               l2_bytes=40 << 20, copy_engines=3)
        self.streams = [rows.put("stream", process=p, device=self.device, context=1, stream=7 + 6 * i, flags=1 + i)
                        for i in range(2)]
        for key, value in FACTS_OF_RANK.items():
            rows.put("meta", process=p, key=key, value=value)

    def api(self, name, at, length=5000):
        self.corr += 1
        self.r.put("api", process=self.p, thread=self.main, start_ns=at, end_ns=at + length, name=name,
                   correlation=self.corr)
        return dict(process=self.p, correlation=self.corr)

    def range(self, name, start, end, depth, thread=None):
        self.r.put("range", process=self.p, thread=thread or self.main, start_ns=start, end_ns=end, name=name, depth=depth)

    def work(self, at):
        """The kernels of one step, and the library calls around their launches. Returns when they have ended."""
        gpu = at + 400_000
        for i, name in enumerate(KERNELS * 2):
            call = at + 300_000 + 20_000 * i
            self.r.put("library_call", process=self.p, thread=self.main, start_ns=call, end_ns=call + 9000,
                       function="cudnnConvolutionForward" if i % 2 else "cublasGemmEx", family=2 if i % 2 else 1, in_type=2,
                       weight_type=2, out_type=2, compute_type=2, in_layout=1, weight_layout=1, math=1, algo=1,
                       workspace_bytes=1 << 20, **{f"dim{d}": v for d, v in enumerate([64, 63, 56, 56, 64, 3, 3, 1, 1, 1, 1, 1])})
            launch = self.api("cudaLaunchKernel", call + 2000)
            self.r.put("kernel", **launch, stream=self.streams[i % 2], start_ns=gpu, end_ns=gpu + 180_000, name=name, grid_x=64,
                       grid_y=2, grid_z=1, block_x=128, block_y=1, block_z=1, registers=64, smem_static=1024)
            gpu += 200_000
        return gpu

    def waits(self, at, gpu):
        record = self.api("cudaEventRecord", at + 600_000)
        self.r.put("cuda_event", **record, stream=self.streams[0], event=1, event_sync=record["correlation"],
                   device_ns=gpu)
        wait = self.api("cudaStreamWaitEvent", at + 610_000)
        self.r.put("sync", **wait, start_ns=at + 610_000, end_ns=at + 611_000, type=2, stream=self.streams[1], event=1,
                   event_sync=record["correlation"])
        for name, kind, start in (("cudaEventSynchronize", 1, at + 650_000), ("cudaStreamSynchronize", 3, gpu - 300_000),
                                  ("cudaDeviceSynchronize", 4, gpu - 100_000)):
            self.r.put("sync", **self.api(name, start, 150_000), start_ns=start, end_ns=start + 150_000, type=kind,
                       stream=self.streams[0] if kind == 3 else -1, event=1, event_sync=record["correlation"])

    def step(self, i):
        at, r, p = 1_000_000 + i * STEP_NS, self.r, self.p
        copy = self.api("cudaMemcpyAsync", at + 210_000, 40_000)
        r.put("copy", **copy, stream=self.streams[0], start_ns=at + 230_000, end_ns=at + 390_000, kind=1, src_kind=1,
              dst_kind=3, bytes=1 << 20, is_async=1, peer_device=-1)
        r.put("memset", **self.api("cudaMemsetAsync", at + 260_000), stream=self.streams[0], start_ns=at + 391_000,
              end_ns=at + 395_000, bytes=4096)
        gpu = self.work(at)
        comm = self.api("ncclAllReduce", at + 560_000)
        kernel = r.put("kernel", **comm, stream=self.streams[1], start_ns=gpu, end_ns=gpu + 300_000,
                       name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", grid_x=8, grid_y=1, grid_z=1, block_x=512, block_y=1,
                       block_z=1)
        r.put("collective", process=p, thread=self.main, start_ns=at + 560_000, end_ns=at + 565_000, name="AllReduce",
              kernel=kernel, communicator=99, sequence=i, bytes=1 << 22, dtype=2, ranks=RANKS, rank=p - 1, root=-1)
        self.waits(at, gpu + 300_000)
        for what, worker, thread in ((0, -1, self.main), (1, 0, self.worker), (2, 0, self.worker), (3, 0, self.worker)):
            r.put("loader_span", process=p, thread=thread, start_ns=at, end_ns=at + 200_000 * (what + 1), what=what,
                  worker=worker, batch=i, cpu_ns=90_000)
        self.range("step", at, at + STEP_NS, 0)
        self.range("data.wait", at, at + 200_000, 1)
        self.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, at + 200_000, 2)
        self.range("optimizer", at + 500_000, at + 600_000, 1)
        self.range("data.decode", at, at + 3_000_000, 0, self.worker)
        self.gauges(i, at)

    def gauges(self, i, at):
        p = self.p
        self.r.put("overhead", process=p, thread=self.main, start_ns=at + 10_000, end_ns=at + 20_000, name="buffer-flush")
        for thread in (self.main, self.worker):
            self.r.put("host_sample", process=p, thread=thread, time_ns=at, cpu_ns=i * 4_000_000, run_queue_ns=i * 900_000,
                       io_wait_ns=i * 500_000, major_faults=i, storage_bytes=i << 16, read_bytes=i << 18)
        for offset, size in (600_000, 1 << 20), (700_000, -(1 << 20)):
            self.r.put("allocation", device=self.device, thread=self.main, time_ns=at + offset, bytes=size, address=4096,
                       in_use_bytes=(1 << 30) + max(size, 0), held_bytes=2 << 30)
        self.r.put("gpu_sample", device=self.device, time_ns=at, util_pct=60, memory_used_bytes=30 << 30, sm_clock_mhz=1200,
                   memory_clock_mhz=1593, power_mw=300_000, temperature_c=60, throttle_reasons=4, pcie_tx_bytes_per_s=1 << 20,
                   pcie_rx_bytes_per_s=1 << 24)


def profile(path, windows=True):
    """A gpuprof profile at `path`; with windows it is one of those that recorded parts of a run."""
    rows = Rows(path)
    for key, value in FACTS.items():
        rows.put("meta", process=0, key=key, value=value)
    for number in range(RANKS):
        rank = Rank(rows, number)
        for i in range(STEPS):
            rank.step(i)
        p = rank.p
        for k in range(2 if windows else 0):
            start, end = k * 5 * STEP_NS + 1_000_000, (k + 1) * 5 * STEP_NS + 1_000_000
            rows.put("recorded", process=p, start_ns=start, end_ns=end, gpu_start_ns=start, gpu_end_ns=end,
                     first_step=1 + 5 * k)
            rows.put("step_block", process=p, first_step=1 + 5 * k, steps=5, start_ns=start, end_ns=end,
                     min_ns=STEP_NS - 1000, max_ns=STEP_NS + 1000)
        rows.put("health", process=p, severity=1, code="records-dropped", text="records were lost", value=7)
    rows.put("step", start_ns=0, end_ns=STEP_NS, used=1)
    rows.put("gap", step=1, start_ns=0, end_ns=5000, cause="idle_input", api="cudaLaunchKernel", range="step")
    rows.put("finding", rank=1, rule="num-workers", title="t", summary="s", kind="predicted", saves_low_ns=1, saves_mid_ns=2,
             saves_high_ns=3)
    rows.put("trial", setting="num_workers=4", verdict="confirmed", predicted_low_ns=1000, predicted_mid_ns=2000,
             predicted_high_ns=3000, measured_low_ns=1000, measured_mid_ns=2000, measured_high_ns=3000, rule="num-workers",
             step_ns=STEP_NS, runs_without=3, runs_with=3, tried_realtime_ns=1795255017043701624, own_low_ns=900,
             own_high_ns=3100)
    rows.db.execute("INSERT INTO result VALUES ('analysis', '{}')")
    rows.db.commit()
    rows.db.close()


def kineto():
    """A trace of PyTorch's profiler as an object."""
    events = [{"ph": "M", "name": "process_name", "pid": 42, "tid": 0, "args": {"name": "python3"}},
              {"ph": "M", "name": "thread_name", "pid": 42, "tid": 42, "args": {"name": "thread 42 (python3)"}}]
    corr = 0
    for i in range(STEPS):
        at = 1000.0 + i * STEP_NS / 1000
        put = lambda cat, name, ts, dur, tid, **args: events.append(  # noqa: E731
            {"ph": "X", "cat": cat, "name": name, "pid": 0 if isinstance(tid, str) else 42,
             "tid": int(tid) if isinstance(tid, str) else tid, "ts": ts, "dur": dur, "args": args})
        put("user_annotation", f"ProfilerStep#{i}", at, 8000, 42)
        put("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 300, 42, **{"External id": i})
        put("python_function", "train.py(10): step", at, 7000, 42)
        for k, name in enumerate(KERNELS):
            corr += 1
            put("cuda_runtime", "cudaLaunchKernel", at + 400 + 20 * k, 5, 42, correlation=corr, cbid=211)
            put("kernel", name, at + 500 + 300 * k, 250, "7", device=0, context=1, stream=7, correlation=corr,
                grid=[64, 2, 1], block=[128, 1, 1], **{"registers per thread": 64, "shared memory": 1024, "graph id": 0,
                                                       "graph node id": 0, "External id": corr})
        corr += 1
        put("cuda_runtime", "cudaMemcpyAsync", at + 350, 20, 42, correlation=corr)
        put("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 360, 90, "7", device=0, context=1, stream=7,
            correlation=corr, bytes=1 << 20)
        corr += 1
        put("cuda_runtime", "cudaMemsetAsync", at + 375, 5, 42, correlation=corr)
        put("gpu_memset", "Memset (Device)", at + 480, 3, "7", device=0, context=1, stream=7, correlation=corr, bytes=4096)
        corr += 1
        put("cuda_runtime", "cudaStreamSynchronize", at + 2000, 400, 42, correlation=corr)
        put("cuda_sync", "Stream Sync", at + 2000, 400, "7", device=0, context=1, stream=7, correlation=corr,
            **{"wait_on_cuda_event_record_corr_id": corr - 1})
        put("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 2500, 200, "20", device=0, context=1, stream=20,
            correlation=0, **{"Collective name": "allreduce", "In msg nelems": 1 << 20, "dtype": "Float",
                              "Group size": 2, "Process Group Ranks": "[0, 1]"})
        put("overhead", "Command Buffer Full", at + 3000, 10, 42)
        events.append({"ph": "i", "name": "[memory]", "cat": "cpu_instant_event", "pid": 42, "tid": 42, "ts": at + 10, "s": "t",
                       "args": {"Total Reserved": 1 << 30, "Device Type": 1, "Device Id": 0, "Bytes": 4096}})
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2},
            "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 80 << 30, "computeMajor": 8,
                                  "computeMinor": 0, "numSms": 108}], "traceEvents": events}


NSYS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId contextId streamId correlationId globalPid demangledName shortName "
                                  "mangledName gridX gridY gridZ blockX blockY blockZ registersPerThread "
                                  "staticSharedMemory dynamicSharedMemory graphId graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start end deviceId contextId streamId correlationId globalPid bytes copyKind srcKind "
                                  "dstKind graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start end deviceId contextId streamId correlationId globalPid bytes value graphNodeId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end globalTid correlationId nameId returnValue",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start end globalPid deviceId contextId streamId correlationId syncType eventId "
                                           "eventSyncId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "timestamp globalPid deviceId contextId streamId correlationId eventId eventSyncId",
    "NVTX_EVENTS": "start end eventType text textId globalTid domainId",
    "PROFILER_OVERHEAD": "start end globalTid nameId",
    "ThreadNames": "globalTid nameId",
    "TARGET_INFO_GPU": "id name computeMajor computeMinor smCount totalMemory memoryBandwidth l2CacheSize asyncEngines "
                       "clockRate",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs",
    "TARGET_INFO_GPU_METRICS": "typeId sourceId metricId metricName",
    "GPU_METRICS": "timestamp typeId metricId value",
    "StringIds": "id value",
}


def nsys(path):
    """An export of Nsight Systems at `path`."""
    db, strings = sqlite3.connect(path), {}
    for table, columns in NSYS.items():
        first = "id INTEGER PRIMARY KEY" if table == "StringIds" else columns.split()[0] + " INTEGER"
        db.execute(f"CREATE TABLE {table} ({', '.join([first] + columns.split()[1:])})")

    def text(s):
        return strings.setdefault(s, len(strings))

    def put(table, **values):
        row = [values.get(c) for c in NSYS[table].split()]
        db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)

    pid, tid = 0x0101000042000000, 0x0101000042000043
    place = dict(deviceId=0, contextId=1, streamId=7, globalPid=pid)
    corr = 0
    for i in range(STEPS):
        at = 1_000_000 + i * STEP_NS
        for k, name in enumerate(KERNELS):
            corr += 1
            put("CUPTI_ACTIVITY_KIND_RUNTIME", start=at + 20_000 * k, end=at + 20_000 * k + 5000, globalTid=tid,
                correlationId=corr, nameId=text("cudaLaunchKernel_v7000"), returnValue=0)
            put("CUPTI_ACTIVITY_KIND_KERNEL", start=at + 200_000 * (k + 1), end=at + 200_000 * (k + 1) + 150_000, **place,
                correlationId=corr, demangledName=text(name), shortName=text("k"), gridX=64, gridY=1, gridZ=1, blockX=128,
                blockY=1, blockZ=1, registersPerThread=64, staticSharedMemory=0, dynamicSharedMemory=0)
        for table, call, more in (("MEMCPY", "cudaMemcpyAsync", dict(bytes=1 << 20, copyKind=1, srcKind=0, dstKind=2)),
                                  ("MEMSET", "cudaMemsetAsync", dict(bytes=4096, value=0)),
                                  ("SYNCHRONIZATION", "cudaEventSynchronize", dict(syncType=1, eventId=1, eventSyncId=i))):
            corr += 1
            put("CUPTI_ACTIVITY_KIND_RUNTIME", start=at + 300_000 + corr % 7 * 10_000, end=at + 305_000 + corr % 7 * 10_000,
                globalTid=tid, correlationId=corr, nameId=text(call), returnValue=0)
            put("CUPTI_ACTIVITY_KIND_" + table, start=at + 100_000, end=at + 180_000, **place, correlationId=corr, **more)
        put("CUPTI_ACTIVITY_KIND_CUDA_EVENT", timestamp=at + 400_000, **place, correlationId=corr, eventId=1, eventSyncId=i)
        put("NVTX_EVENTS", start=at, end=at + STEP_NS, eventType=59, textId=text("step"), globalTid=tid, domainId=1)
        put("PROFILER_OVERHEAD", start=at + 1000, end=at + 2000, globalTid=tid, nameId=text("Buffer flush"))
        put("GPU_METRICS", timestamp=at, typeId=1 << 56, metricId=1, value=50)
    put("NVTX_EVENTS", start=0, eventType=75, text="domain", globalTid=tid, domainId=1)
    put("ThreadNames", globalTid=tid, nameId=text("python3"))
    put("TARGET_INFO_GPU", id=0, name="NVIDIA A100", computeMajor=8, computeMinor=0, smCount=108, totalMemory=80 << 30,
        memoryBandwidth=2039 * 10**9, l2CacheSize=40 << 20, asyncEngines=3, clockRate=1410 * 10**6)
    put("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1795255017043701624)
    put("TARGET_INFO_GPU_METRICS", typeId=1 << 56, sourceId=1, metricId=1, metricName="GPU Active [Throughput %]")
    for s, i in strings.items():
        put("StringIds", id=i, value=s)
    db.commit()
    db.close()
