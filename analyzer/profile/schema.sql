-- The schema of a gpuprof profile, version 11 (PRAGMA user_version). docs/profile.md explains it by example.
--
-- Times are nanoseconds since the profile's start; names of columns end in their unit. Ids count from 1 in each table.
-- -1 = not known. Texts live in `string`: a column that REFERENCES string(id) holds the number of its text, 0 = empty.
-- References are not enforced: they say what may be joined. What numbers of an enumeration mean: view `code`.
PRAGMA application_id = 0x47505246; -- "GPRF"

CREATE TABLE string (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL
);

CREATE TABLE meta (                                 -- facts; docs/profile.md lists the keys
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),         -- 0: of the whole profile
    key INTEGER REFERENCES string(id),              -- the last one of a key counts
    value INTEGER REFERENCES string(id)
);

CREATE TABLE process (                              -- each process of the program that left records
    id INTEGER PRIMARY KEY,
    pid INTEGER,                                    -- as the operating system numbered it
    ppid INTEGER,                                   -- its parent's
    rank INTEGER,                                   -- in a distributed run: its number,
    local_rank INTEGER,                             -- its number on this machine,
    world_size INTEGER,                             -- how many there are
    start_ns INTEGER,                               -- its recording began
    end_ns INTEGER,                                 -- and ended
    command INTEGER REFERENCES string(id),          -- with arguments
    host INTEGER REFERENCES string(id),             -- name of the machine
    sealed INTEGER                                  -- 1 ended in good order, 0 killed, -1 does not apply
);

CREATE TABLE thread (                               -- host threads
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    tid INTEGER,                                    -- as the operating system numbered it
    name INTEGER REFERENCES string(id)              -- as the program named it
);

CREATE TABLE device (                               -- GPUs
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),         -- that used it: one row for each
    ordinal INTEGER,                                -- CUDA's number of it in that process
    name INTEGER REFERENCES string(id),
    uuid INTEGER REFERENCES string(id),             -- the same GPU in all processes
    is_virtual INTEGER,                             -- 1: the virtual GPU, nothing was measured
    cc_major INTEGER,                               -- compute capability
    cc_minor INTEGER,
    sm_count INTEGER,                               -- multiprocessors
    clock_khz INTEGER,                              -- of its cores, at most
    memory_bytes INTEGER,
    memory_bytes_per_s INTEGER,                     -- bandwidth of its memory, theoretical
    l2_bytes INTEGER,                               -- cache
    copy_engines INTEGER                            -- copies that can run beside kernels
);

CREATE TABLE stream (
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    device INTEGER REFERENCES device(id),
    context INTEGER,                                -- CUPTI's numbers: of the context
    stream INTEGER,                                 -- and of the stream
    flags INTEGER,                                  -- 1 legacy default stream, 2 non-blocking, 4 per thread
    priority INTEGER                                -- lower runs first
);

CREATE TABLE kernel (
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    stream INTEGER REFERENCES stream(id),
    start_ns INTEGER,                               -- on the GPU
    end_ns INTEGER,
    name INTEGER REFERENCES string(id),             -- as recorded, mangled or not
    correlation INTEGER,                            -- that of the api row that launched it, same process; 0 = none
    grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, -- blocks
    block_x INTEGER, block_y INTEGER, block_z INTEGER, -- threads of a block
    registers INTEGER,                              -- of a thread
    smem_static INTEGER, smem_dynamic INTEGER,      -- bytes of shared memory of a block
    graph INTEGER, graph_node INTEGER               -- CUPTI's numbers; 0 = not launched by a CUDA graph
);

CREATE TABLE copy (
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    stream INTEGER REFERENCES stream(id),
    start_ns INTEGER,                               -- on the GPU
    end_ns INTEGER,
    correlation INTEGER,                            -- as in kernel
    kind INTEGER,                                   -- code 'copy': 1 H2D, 2 D2H, 8 D2D, 9 H2H, 10 peer
    src_kind INTEGER, dst_kind INTEGER,             -- code 'memory': 1 pageable, 2 pinned, 3 device, ...
    bytes INTEGER,
    is_async INTEGER,                               -- 1: by an asynchronous call
    peer_device INTEGER,                            -- the other GPU's ordinal, of peer copies
    graph INTEGER, graph_node INTEGER               -- as in kernel
);

CREATE TABLE memset (
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    stream INTEGER REFERENCES stream(id),
    start_ns INTEGER,                               -- on the GPU
    end_ns INTEGER,
    correlation INTEGER,                            -- as in kernel
    bytes INTEGER,
    value INTEGER,                                  -- what is written
    graph INTEGER, graph_node INTEGER               -- as in kernel
);

CREATE TABLE api (                                  -- calls of the CUDA runtime and driver on the host
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    thread INTEGER REFERENCES thread(id),
    start_ns INTEGER,
    end_ns INTEGER,
    name INTEGER REFERENCES string(id),             -- without version suffix
    correlation INTEGER,                            -- joins what it caused, within the process
    layer INTEGER,                                  -- 0 runtime, 1 driver
    result INTEGER                                  -- its own error number, 0 = success
);

CREATE TABLE sync (                                 -- waits of the host, and of streams for events
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    start_ns INTEGER,
    end_ns INTEGER,
    type INTEGER,                                   -- code 'sync': 1 event, 2 stream waits for event, 3 stream, 4 context
    stream INTEGER REFERENCES stream(id),           -- waited for, or waiting (type 2)
    event INTEGER,                                  -- CUPTI's number of the event
    event_sync INTEGER,                             -- number of the recording of it: cuda_event.event_sync
    correlation INTEGER                             -- of the api row that waits
);

CREATE TABLE cuda_event (                           -- cudaEventRecord, in its stream
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    stream INTEGER REFERENCES stream(id),
    event INTEGER,                                  -- CUPTI's number of the event
    event_sync INTEGER,                             -- unique number of this recording
    correlation INTEGER,                            -- of the api row
    device_ns INTEGER                               -- when the GPU passed it
);

CREATE TABLE overhead (                             -- time that profiler and driver took from the program
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    thread INTEGER REFERENCES thread(id),
    start_ns INTEGER,
    end_ns INTEGER,
    name INTEGER REFERENCES string(id)              -- buffer-flush, lazy-loading, command-buffer-full, ...
);

CREATE TABLE range (                                -- NVTX ranges; of imported traces: operators, marks
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    thread INTEGER REFERENCES thread(id),
    start_ns INTEGER,
    end_ns INTEGER,
    name INTEGER REFERENCES string(id),
    domain INTEGER REFERENCES string(id),           -- empty = the default one
    depth INTEGER,                                  -- 0 = outermost on its thread
    payload INTEGER,                                -- as the program gave it
    shapes INTEGER REFERENCES string(id)            -- of an operator's inputs: "64 x 3 x 224 x 224 float, ..."
);

CREATE TABLE library_call (                         -- cuBLAS and cuDNN calls with their shapes
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    thread INTEGER REFERENCES thread(id),
    start_ns INTEGER,                               -- on the host
    end_ns INTEGER,
    function INTEGER REFERENCES string(id),
    family INTEGER,                                 -- code 'family': 1 matrix product, 2 to 4 convolutions, ...
    in_type INTEGER, weight_type INTEGER, out_type INTEGER, compute_type INTEGER, -- code 'type'
    in_layout INTEGER, weight_layout INTEGER,       -- code 'layout'
    math INTEGER,                                   -- code 'math': may tensor cores be used?
    algo INTEGER,                                   -- the library's number
    workspace_bytes INTEGER,
    dim0 INTEGER, dim1 INTEGER, dim2 INTEGER, dim3 INTEGER, -- product: m n k batch transa transb;
    dim4 INTEGER, dim5 INTEGER, dim6 INTEGER, dim7 INTEGER, -- convolution: n c h w k r s stride pad dilation
    dim8 INTEGER, dim9 INTEGER, dim10 INTEGER, dim11 INTEGER -- groups; others: n c h w. 0 = not known
);

CREATE TABLE loader_span (                          -- data loading seen by a framework hook
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    thread INTEGER REFERENCES thread(id),
    start_ns INTEGER,
    end_ns INTEGER,
    what INTEGER,                                   -- code 'loader': 0 wait, 1 fetch, 2 collate, 3 pin, 4 begin, 5 end
    worker INTEGER,                                 -- its number; -1 = the training process itself
    batch INTEGER,                                  -- whose: number of the loader (fact torch.loader.N); -1 = not known
    cpu_ns INTEGER                                  -- CPU time in it
);

CREATE TABLE collective (                           -- communication between ranks
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    thread INTEGER REFERENCES thread(id),           -- that called
    start_ns INTEGER,                               -- of the call on the host
    end_ns INTEGER,
    name INTEGER REFERENCES string(id),             -- AllReduce, AllGather, ...
    kernel INTEGER REFERENCES kernel(id),           -- that did it
    communicator INTEGER,                           -- the same number on all its ranks
    sequence INTEGER,                               -- running number on the communicator
    bytes INTEGER,
    dtype INTEGER,                                  -- code 'type'
    ranks INTEGER,                                  -- how many take part
    rank INTEGER,                                   -- the caller's
    root INTEGER,                                   -- root or peer, where there is one
    group_name INTEGER REFERENCES string(id)        -- what the program calls the communicator
);

CREATE TABLE host_sample (                          -- CPU time of the program's threads, 10 times a second, at first 100
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    thread INTEGER REFERENCES thread(id),
    time_ns INTEGER,                                -- when; the rest counts from the thread's start:
    cpu_ns INTEGER,                                 -- running
    run_queue_ns INTEGER,                           -- ready to run, without a core
    io_wait_ns INTEGER,                             -- waiting for a disk; -1: the kernel does not keep it
    major_faults INTEGER,                           -- pages that had to be read
    storage_bytes INTEGER,                          -- read from storage, not from memory
    read_bytes INTEGER                              -- asked for by read calls, whatever served them
);

CREATE TABLE stack (                                -- frames of sampled Python stacks, each once below its caller
    id INTEGER PRIMARY KEY,
    caller INTEGER REFERENCES stack(id),            -- 0: the outermost
    file INTEGER REFERENCES string(id),
    function INTEGER REFERENCES string(id),
    line INTEGER,                                   -- 0 = not known
    source INTEGER REFERENCES string(id)            -- its text, of the user's own code; 0 = not known
);

CREATE TABLE stack_sample (                         -- what threads of Python do, seen from outside 100 times a second
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    thread INTEGER REFERENCES thread(id),
    start_ns INTEGER,                               -- of the first look that found it so,
    end_ns INTEGER,                                 -- and of the last: the thread did not run in between
    looks INTEGER,                                  -- how many
    state INTEGER,                                  -- code 'stack': 0 asleep, 1 running, 2 ready without a core, 3 disk
    call INTEGER REFERENCES string(id),             -- that it sleeps in: futex, wait4, nanosleep
    stack INTEGER REFERENCES stack(id)              -- its innermost frame; 0 = it runs no Python
);

CREATE TABLE launch_line (                          -- from which lines of Python threads launch the GPU's work; in single steps
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    thread INTEGER REFERENCES thread(id),
    start_ns INTEGER,                               -- from here to the thread's next row, or the end of the stretch
    end_ns INTEGER,                                 -- of a stretch (what = 0); -1 of a line
    stretch INTEGER,                                -- number of the stretch that it is in, from 1 in each process
    what INTEGER,                                   -- code 'launch': 0 a stretch, 1 own, 2 forward, 3 backward(), 4 none, 5 unused
    stack INTEGER REFERENCES stack(id)              -- the line; its caller, without a file, is the module; 0 = not known
);

CREATE TABLE allocation (                           -- what a framework's allocator of GPU memory gave out and took back
    id INTEGER PRIMARY KEY,
    device INTEGER REFERENCES device(id),
    thread INTEGER REFERENCES thread(id),           -- that asked
    time_ns INTEGER,
    bytes INTEGER,                                  -- below 0: taken back
    address INTEGER,
    in_use_bytes INTEGER,                           -- all that is given out then
    held_bytes INTEGER,                             -- with what the allocator keeps free
    stack INTEGER                                   -- the line that asked, of `run --memory`
);

CREATE TABLE gpu_sample (                           -- the GPU's own gauges
    id INTEGER PRIMARY KEY,
    device INTEGER REFERENCES device(id),
    time_ns INTEGER,
    util_pct INTEGER,                               -- share of time with any kernel running
    memory_used_bytes INTEGER,
    sm_clock_mhz INTEGER, memory_clock_mhz INTEGER,
    power_mw INTEGER,
    temperature_c INTEGER,
    throttle_reasons INTEGER,                       -- NVML's bits, 0 = none
    pcie_tx_bytes_per_s INTEGER, pcie_rx_bytes_per_s INTEGER -- from and to the GPU
);

CREATE TABLE health (                               -- what could not be recorded, and why
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),         -- 0: of the whole profile
    severity INTEGER,                               -- 0 info, 1 warning, 2 error
    code INTEGER REFERENCES string(id),             -- short and stable
    text INTEGER REFERENCES string(id),             -- one sentence, with the cure
    value INTEGER                                   -- a count, or an error number, by code
);

CREATE TABLE recorded (                             -- windows recorded in full; none: all of the run
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    start_ns INTEGER,
    end_ns INTEGER,                                 -- of what the host did
    gpu_start_ns INTEGER,                           -- of what the GPU did; -1: work queued before may have run unseen
    gpu_end_ns INTEGER,                             -- and until when: queued work runs on
    first_step INTEGER                              -- number of the step that begins it, from 1; 0 none yet; -1 not at steps
);

CREATE TABLE step_block (                           -- all steps of a run recorded in windows, neighbours summed up
    id INTEGER PRIMARY KEY,
    process INTEGER REFERENCES process(id),
    first_step INTEGER,                             -- number of the first, from 1
    steps INTEGER,                                  -- how many
    start_ns INTEGER,
    end_ns INTEGER,
    min_ns INTEGER, max_ns INTEGER                  -- of one step, from its start to the next one's
);

-- ---- what the analysis concluded -------------------------------------------------------------------------

CREATE TABLE step (                                 -- one pass of the training loop
    id INTEGER PRIMARY KEY,
    start_ns INTEGER,                               -- on the host, from mark to mark
    end_ns INTEGER,
    used INTEGER,                                   -- 1 steady state; 0 warm-up, outlier, cut off
    from_ns INTEGER,                                -- what its parts are of: on the GPU, from the end of what was
    to_ns INTEGER,                                  -- launched before the step to the end of what it launched
    compute_ns INTEGER,                             -- the parts sum to to_ns - from_ns;
    comm_exposed_ns INTEGER,                        -- docs/json.schema.json describes each
    copy_exposed_ns INTEGER,
    idle_input_ns INTEGER,
    idle_copy_ns INTEGER,
    idle_sync_ns INTEGER,
    idle_launch_ns INTEGER,
    idle_alloc_ns INTEGER,
    idle_host_ns INTEGER,
    idle_queued_ns INTEGER,
    unexplained_ns INTEGER
);

CREATE TABLE gap (                                  -- idle stretches of the GPU
    id INTEGER PRIMARY KEY,
    step INTEGER REFERENCES step(id),               -- -1: outside of all
    start_ns INTEGER,
    end_ns INTEGER,
    cause INTEGER REFERENCES string(id),            -- the part of the step that most of it is charged to
    api INTEGER REFERENCES string(id),              -- the call that the host was in
    range INTEGER REFERENCES string(id)             -- and the innermost range
);

CREATE TABLE finding (                              -- what to change, the best first
    id INTEGER PRIMARY KEY,
    rank INTEGER,                                   -- 1 = first
    rule INTEGER REFERENCES string(id),             -- `gpuprof explain RULE` tells more
    title INTEGER REFERENCES string(id),
    summary INTEGER REFERENCES string(id),          -- one sentence with the numbers
    kind INTEGER REFERENCES string(id),             -- upper-bound, predicted
    saves_low_ns INTEGER, saves_mid_ns INTEGER, saves_high_ns INTEGER -- of a step
);

CREATE TABLE trial (                         -- reruns with the advice applied
    id INTEGER PRIMARY KEY,
    setting INTEGER REFERENCES string(id),             -- as in GPUPROF_APPLY
    verdict INTEGER REFERENCES string(id),
    predicted_low_ns INTEGER, predicted_mid_ns INTEGER, predicted_high_ns INTEGER, -- saved of a step; -1 not predicted
    measured_low_ns INTEGER, measured_mid_ns INTEGER, measured_high_ns INTEGER,    -- with its 95 % interval
    rule INTEGER REFERENCES string(id),             -- whose advice it is, '' for a change that none names
    step_ns INTEGER,                                -- measured without the change
    runs_without INTEGER, runs_with INTEGER,
    tried_realtime_ns INTEGER,                      -- Unix time
    own_low_ns INTEGER, own_high_ns INTEGER         -- predicted, before past trials widened it; -1
);

CREATE TABLE result (                               -- as `gpuprof analyze --json` printed it; docs/json.md
    kind TEXT PRIMARY KEY,                          -- analysis
    json TEXT NOT NULL
);

-- ---- views: the questions people ask ---------------------------------------------------------------------

CREATE VIEW kernel_time AS                                -- where does the GPU's time go?
SELECT s.text AS name, count(*) AS calls, sum(k.end_ns - k.start_ns) / 1e6 AS total_ms,
       round(avg(k.end_ns - k.start_ns) / 1e3, 3) AS mean_us, max(k.end_ns - k.start_ns) / 1e3 AS max_us
FROM kernel k JOIN string s ON s.id = k.name GROUP BY k.name ORDER BY total_ms DESC;

CREATE VIEW copy_time AS                                  -- what is copied, and how fast?
SELECT CASE c.kind WHEN 1 THEN 'H2D' WHEN 2 THEN 'D2H' WHEN 8 THEN 'D2D' WHEN 9 THEN 'H2H' WHEN 10 THEN 'peer'
       ELSE 'other' END AS kind,
       CASE CASE WHEN c.kind = 2 THEN c.dst_kind ELSE c.src_kind END WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned'
       WHEN 3 THEN 'device' ELSE 'other' END AS host_memory,
       count(*) AS copies, sum(c.bytes) / 1e6 AS megabytes, sum(c.end_ns - c.start_ns) / 1e6 AS total_ms,
       round(sum(c.bytes) * 1.0 / nullif(sum(c.end_ns - c.start_ns), 0), 2) AS gb_per_s
FROM copy c GROUP BY 1, 2 ORDER BY total_ms DESC;

CREATE VIEW gap_time AS                                   -- why is the GPU idle?
SELECT s.text AS cause, count(*) AS gaps, sum(g.end_ns - g.start_ns) / 1e6 AS total_ms,
       max(g.end_ns - g.start_ns) / 1e6 AS longest_ms
FROM gap g JOIN string s ON s.id = g.cause GROUP BY g.cause ORDER BY total_ms DESC;

CREATE VIEW step_time AS                                  -- one row per step, in ms
SELECT id, used, (to_ns - from_ns) / 1e6 AS step_ms, compute_ns / 1e6 AS compute_ms,
       comm_exposed_ns / 1e6 AS comm_exposed_ms, copy_exposed_ns / 1e6 AS copy_exposed_ms,
       idle_input_ns / 1e6 AS idle_input_ms, idle_copy_ns / 1e6 AS idle_copy_ms,
       idle_sync_ns / 1e6 AS idle_sync_ms,
       idle_launch_ns / 1e6 AS idle_launch_ms, idle_alloc_ns / 1e6 AS idle_alloc_ms,
       idle_host_ns / 1e6 AS idle_host_ms, idle_queued_ns / 1e6 AS idle_queued_ms, unexplained_ns / 1e6 AS unexplained_ms
FROM step;

CREATE VIEW api_time AS                                   -- which CUDA calls does the host spend its time in?
SELECT s.text AS name, count(*) AS calls, sum(a.end_ns - a.start_ns) / 1e6 AS total_ms,
       max(a.end_ns - a.start_ns) / 1e3 AS max_us
FROM api a JOIN string s ON s.id = a.name GROUP BY a.name ORDER BY total_ms DESC;

CREATE VIEW range_time AS                                 -- and which ranges?
SELECT s.text AS name, count(*) AS ranges, sum(r.end_ns - r.start_ns) / 1e6 AS total_ms,
       round(avg(r.end_ns - r.start_ns) / 1e6, 6) AS mean_ms
FROM range r JOIN string s ON s.id = r.name GROUP BY r.name ORDER BY total_ms DESC;

CREATE VIEW stack_time AS                                 -- which lines of Python do the threads spend time in?
SELECT f.text AS file, k.line AS line, u.text AS function, c.name AS state, s.process AS process, sum(s.looks) AS looks
FROM stack_sample s JOIN stack k ON k.id = s.stack JOIN string f ON f.id = k.file JOIN string u ON u.id = k.function
     JOIN code c ON c.what = 'stack' AND c.number = s.state
GROUP BY k.file, k.line, k.function, s.state, s.process ORDER BY looks DESC;

CREATE VIEW launched AS                                   -- from which line was the work launched that has one recorded?
SELECT w.kind, w.id, w.process, w.end_ns - w.start_ns AS ns, t.stretch, l.what, l.stack
FROM (SELECT 'kernel' AS kind, id, process, correlation, start_ns, end_ns FROM kernel
      UNION ALL SELECT 'copy', id, process, correlation, start_ns, end_ns FROM copy
      UNION ALL SELECT 'memset', id, process, correlation, start_ns, end_ns FROM memset) w
     JOIN api a ON a.process = w.process AND a.correlation = w.correlation
     JOIN launch_line t ON t.what = 0 AND t.process = a.process AND a.start_ns BETWEEN t.start_ns AND t.end_ns
     LEFT JOIN launch_line l ON l.id = (SELECT id FROM launch_line n WHERE n.thread = a.thread AND n.start_ns <= a.end_ns
                                        ORDER BY n.start_ns DESC LIMIT 1) AND l.stretch = t.stretch;

CREATE VIEW line_gpu_time AS                              -- which lines does the GPU work for? (of the steps that carry lines)
SELECT coalesce(f.text, '') AS file, coalesce(k.line, 0) AS line, coalesce(u.text, '') AS function,
       coalesce((SELECT name FROM code c WHERE c.what = 'launch' AND number = w.what), 'none') AS way,
       count(*) AS launches, sum(w.ns) / 1e6 AS gpu_ms,
       round(100.0 * sum(w.ns) / (SELECT sum(ns) FROM launched), 2) AS percent
FROM launched w LEFT JOIN stack k ON k.id = w.stack LEFT JOIN string f ON f.id = k.file
     LEFT JOIN string u ON u.id = k.function
GROUP BY k.file, k.line, k.function, w.what ORDER BY gpu_ms DESC;

CREATE VIEW module_gpu_time AS                            -- and for which modules of PyTorch?
SELECT coalesce(u.text, '') AS module, count(*) AS launches, sum(w.ns) / 1e6 AS gpu_ms,
       round(100.0 * sum(w.ns) / (SELECT sum(ns) FROM launched), 2) AS percent
FROM launched w LEFT JOIN stack k ON k.id = w.stack LEFT JOIN stack m ON m.id = k.caller AND m.file = 0
     LEFT JOIN string u ON u.id = m.function
GROUP BY module ORDER BY gpu_ms DESC;

CREATE VIEW health_note AS                                -- can this profile be trusted?
SELECT CASE h.severity WHEN 0 THEN 'info' WHEN 1 THEN 'warning' ELSE 'error' END AS severity,
       c.text AS code, t.text AS text, h.value FROM health h JOIN string c ON c.id = h.code
       JOIN string t ON t.id = h.text ORDER BY h.severity DESC, h.id;

CREATE VIEW advice AS                                     -- what to change first?
SELECT f.rank, r.text AS rule, t.text AS title, s.text AS summary, k.text AS kind,
       f.saves_high_ns / 1e6 AS saves_up_to_ms
FROM finding f JOIN string r ON r.id = f.rule JOIN string t ON t.id = f.title JOIN string s ON s.id = f.summary
     JOIN string k ON k.id = f.kind ORDER BY f.rank;

CREATE VIEW sync_longest AS                               -- where does the host wait for the GPU?
SELECT (y.end_ns - y.start_ns) / 1e6 AS wait_ms, y.start_ns / 1e6 AS start_ms,
       CASE y.type WHEN 1 THEN 'event' WHEN 3 THEN 'stream' WHEN 4 THEN 'context' ELSE 'other' END AS waits_for,
       (SELECT s.text FROM api a JOIN string s ON s.id = a.name WHERE a.process = y.process AND
        a.correlation = y.correlation AND y.correlation <> 0 ORDER BY a.layer LIMIT 1) AS call
FROM sync y WHERE y.type <> 2 ORDER BY y.end_ns - y.start_ns DESC; -- type 2 does not hold the host

CREATE VIEW call_shape AS                                 -- which products and convolutions, how often?
WITH shape AS (
    SELECT function, family, in_type, compute_type, in_layout, math, dim0, dim1, dim2, dim3, dim4, dim5, dim6,
           dim7, dim8, dim9, dim10, count(*) AS calls, sum(end_ns - start_ns) / 1e6 AS host_ms
    FROM library_call GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)
SELECT f.text AS function,
       CASE WHEN c.family = 1 THEN printf('m%d n%d k%d batch %d%s%s', dim0, dim1, dim2, dim3,
                                          iif(dim4, ' transa', ''), iif(dim5, ' transb', ''))
            WHEN c.family IN (2, 3, 4) THEN printf('n%d c%d %dx%d k%d %dx%d stride %d pad %d%s%s', dim0, dim1, dim2,
                 dim3, dim4, dim5, dim6, dim7, dim8, iif(dim9 > 1, ' dilation ' || dim9, ''),
                 iif(dim10 > 1, ' groups ' || dim10, ''))
            ELSE printf('n%d c%d %dx%d', dim0, dim1, dim2, dim3) END AS shape,
       (SELECT name FROM code WHERE what = 'type' AND number = c.in_type) AS input,
       (SELECT name FROM code WHERE what = 'type' AND number = c.compute_type) AS compute,
       (SELECT name FROM code WHERE what = 'layout' AND number = c.in_layout) AS layout,
       (SELECT name FROM code WHERE what = 'math' AND number = c.math) AS math,
       c.calls, c.host_ms
FROM shape c JOIN string f ON f.id = c.function ORDER BY c.calls DESC, c.host_ms DESC;

CREATE VIEW fact AS                                       -- what ran, where, with which versions?
SELECT m.process, k.text AS key, v.text AS value
FROM meta m JOIN string k ON k.id = m.key JOIN string v ON v.id = m.value ORDER BY m.process, key;

CREATE VIEW code(what, number, name) AS VALUES            -- what numbers mean
    ('copy', 1, 'H2D'), ('copy', 2, 'D2H'), ('copy', 8, 'D2D'), ('copy', 9, 'H2H'), ('copy', 10, 'peer'),
    ('memory', 0, 'unknown'), ('memory', 1, 'pageable'), ('memory', 2, 'pinned'), ('memory', 3, 'device'),
    ('memory', 4, 'array'), ('memory', 5, 'managed'),
    ('sync', 1, 'event'), ('sync', 2, 'stream waits for event'), ('sync', 3, 'stream'), ('sync', 4, 'context'),
    ('type', 0, NULL), ('type', 1, 'f64'), ('type', 2, 'f32'), ('type', 3, 'tf32'), ('type', 4, 'f16'),
    ('type', 5, 'bf16'), ('type', 6, 'f8e4m3'), ('type', 7, 'f8e5m2'), ('type', 8, 'i8'), ('type', 9, 'i32'),
    ('type', 10, 'other'),
    ('family', 0, 'other'), ('family', 1, 'product'), ('family', 2, 'convolution forward'),
    ('family', 3, 'convolution backward data'), ('family', 4, 'convolution backward filter'),
    ('family', 5, 'normalisation'), ('family', 6, 'pooling'), ('family', 7, 'activation'), ('family', 8, 'softmax'),
    ('family', 9, 'bias'), ('family', 10, 'collective'), ('family', 11, 'search for an algorithm'),
    ('layout', 0, NULL), ('layout', 1, 'NCHW'), ('layout', 2, 'NHWC'), ('layout', 3, 'row'), ('layout', 4, 'column'),
    ('math', 0, 'default'), ('math', 1, 'tensor op'), ('math', 2, 'conversion allowed'), ('math', 3, 'FMA'),
    ('math', 4, 'TF32'),
    ('loader', 0, 'wait'), ('loader', 1, 'fetch'), ('loader', 2, 'collate'), ('loader', 3, 'pin'),
    ('loader', 4, 'begin'), ('loader', 5, 'end'),
    ('stack', 0, 'asleep'), ('stack', 1, 'running'), ('stack', 2, 'ready'), ('stack', 3, 'disk'),
    ('launch', 0, 'stretch'), ('launch', 1, 'own'), ('launch', 2, 'forward'), ('launch', 3, 'backward()'),
    ('launch', 4, 'none'), ('launch', 5, 'unused'),
    ('severity', 0, 'info'), ('severity', 1, 'warning'), ('severity', 2, 'error');
