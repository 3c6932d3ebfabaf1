-- The schema of a gpuprof profile, version 1 (PRAGMA user_version). docs/profile.md explains it by example.
--
-- Times are INTEGER nanoseconds since the profile's start; *_ns. Ids count from 1 in each table. Texts live in
-- `string`; a column marked "-> string" holds its id (0 = empty). -1 = not known. Enumerations are CUPTI's numbers.
PRAGMA application_id = 0x47505246; -- "GPRF"

CREATE TABLE string (id INTEGER PRIMARY KEY, text TEXT NOT NULL);

-- Facts: key and value; process 0 = the whole profile.
CREATE TABLE meta (id INTEGER PRIMARY KEY, process INTEGER, key INTEGER /* -> string */, value INTEGER /* -> string */);

CREATE TABLE process (
    id INTEGER PRIMARY KEY,
    pid INTEGER, ppid INTEGER,
    rank INTEGER, local_rank INTEGER, world_size INTEGER, -- of a distributed run, else -1
    start_ns INTEGER, end_ns INTEGER,                     -- of its recording
    command INTEGER, host INTEGER,                        -- -> string
    sealed INTEGER                                        -- 1 ended in good order, 0 killed, -1 does not apply
);

CREATE TABLE thread (id INTEGER PRIMARY KEY, process INTEGER, tid INTEGER, name INTEGER /* -> string */);

CREATE TABLE device (
    id INTEGER PRIMARY KEY, process INTEGER, ordinal INTEGER,
    name INTEGER, uuid INTEGER,                           -- -> string
    is_virtual INTEGER,                                   -- 1: the virtual GPU, nothing was measured
    cc_major INTEGER, cc_minor INTEGER, sm_count INTEGER, clock_khz INTEGER,
    memory_bytes INTEGER, memory_bytes_per_s INTEGER, l2_bytes INTEGER, copy_engines INTEGER
);

CREATE TABLE stream (
    id INTEGER PRIMARY KEY, process INTEGER, device INTEGER, context INTEGER,
    stream INTEGER,                                       -- CUPTI's number
    flags INTEGER,                                        -- 1 legacy default, 2 non-blocking, 4 per thread
    priority INTEGER
);

CREATE TABLE kernel (
    id INTEGER PRIMARY KEY, process INTEGER, stream INTEGER,
    start_ns INTEGER, end_ns INTEGER,
    name INTEGER,                                         -- -> string, as recorded
    correlation INTEGER,                                  -- joins api.correlation within the process
    grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER,
    registers INTEGER, smem_static INTEGER, smem_dynamic INTEGER, -- per thread; bytes
    graph INTEGER, graph_node INTEGER                     -- 0 = not launched by a CUDA graph
);

CREATE TABLE copy (
    id INTEGER PRIMARY KEY, process INTEGER, stream INTEGER,
    start_ns INTEGER, end_ns INTEGER, correlation INTEGER,
    kind INTEGER,                                         -- 1 H2D, 2 D2H, 8 D2D, 9 H2H, 10 peer
    src_kind INTEGER, dst_kind INTEGER,                   -- 1 pageable, 2 pinned, 3 device, 4 array, 5 managed
    bytes INTEGER, is_async INTEGER, peer_device INTEGER, graph INTEGER, graph_node INTEGER
);

CREATE TABLE memset (
    id INTEGER PRIMARY KEY, process INTEGER, stream INTEGER,
    start_ns INTEGER, end_ns INTEGER, correlation INTEGER,
    bytes INTEGER, value INTEGER, graph INTEGER, graph_node INTEGER
);

CREATE TABLE api (                                        -- CUDA runtime and driver calls on the host
    id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER,
    start_ns INTEGER, end_ns INTEGER,
    name INTEGER,                                         -- -> string
    correlation INTEGER,
    layer INTEGER,                                        -- 0 runtime, 1 driver
    result INTEGER                                        -- the call's own error number
);

CREATE TABLE sync (
    id INTEGER PRIMARY KEY, process INTEGER,
    start_ns INTEGER, end_ns INTEGER,
    type INTEGER,                                         -- 1 event, 2 stream waits for event, 3 stream, 4 context
    stream INTEGER, event INTEGER, event_sync INTEGER, correlation INTEGER
);

CREATE TABLE cuda_event (                                 -- cudaEventRecord
    id INTEGER PRIMARY KEY, process INTEGER, stream INTEGER,
    event INTEGER, event_sync INTEGER, correlation INTEGER, device_ns INTEGER
);

CREATE TABLE overhead (                                   -- time taken by profiler and driver
    id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER, start_ns INTEGER, end_ns INTEGER,
    name INTEGER                                          -- -> string
);

CREATE TABLE range (                                      -- NVTX ranges, framework operators
    id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER,
    start_ns INTEGER, end_ns INTEGER,
    name INTEGER, domain INTEGER,                         -- -> string
    depth INTEGER, payload INTEGER
);

CREATE TABLE library_call (                               -- cuBLAS, cuDNN with shapes; numbers: agent/spool_format.h
    id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER,
    start_ns INTEGER, end_ns INTEGER,
    function INTEGER,                                     -- -> string
    family INTEGER, in_type INTEGER, weight_type INTEGER, out_type INTEGER, compute_type INTEGER,
    in_layout INTEGER, weight_layout INTEGER, math INTEGER, algo INTEGER, workspace_bytes INTEGER,
    dim0 INTEGER, dim1 INTEGER, dim2 INTEGER, dim3 INTEGER, dim4 INTEGER, dim5 INTEGER,
    dim6 INTEGER, dim7 INTEGER, dim8 INTEGER, dim9 INTEGER, dim10 INTEGER, dim11 INTEGER
);

CREATE TABLE loader_span (                                -- data loading seen by a framework hook
    id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER, start_ns INTEGER, end_ns INTEGER,
    what INTEGER,                                         -- 0 wait, 1 fetch, 2 collate, 3 pin
    worker INTEGER, batch INTEGER, cpu_ns INTEGER
);

CREATE TABLE collective (
    id INTEGER PRIMARY KEY, process INTEGER, start_ns INTEGER, end_ns INTEGER,
    name INTEGER,                                         -- -> string
    kernel INTEGER, communicator INTEGER, sequence INTEGER, bytes INTEGER, dtype INTEGER, ranks INTEGER
);

CREATE TABLE host_sample (                                -- CPU time of the target's threads, cumulative
    id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER, time_ns INTEGER,
    cpu_ns INTEGER, run_queue_ns INTEGER, io_wait_ns INTEGER, major_faults INTEGER
);

CREATE TABLE gpu_sample (
    id INTEGER PRIMARY KEY, device INTEGER, time_ns INTEGER, util_pct INTEGER, memory_used_bytes INTEGER,
    sm_clock_mhz INTEGER, memory_clock_mhz INTEGER, power_mw INTEGER, temperature_c INTEGER,
    throttle_reasons INTEGER, pcie_tx_bytes_per_s INTEGER, pcie_rx_bytes_per_s INTEGER
);

CREATE TABLE health (                                     -- what could not be recorded, and why
    id INTEGER PRIMARY KEY, process INTEGER,
    severity INTEGER,                                     -- 0 info, 1 warning, 2 error
    code INTEGER, text INTEGER,                           -- -> string
    value INTEGER
);

-- ---- what the analysis concluded -------------------------------------------------------------------------

CREATE TABLE step (                                       -- parts sum to end_ns - start_ns
    id INTEGER PRIMARY KEY, start_ns INTEGER, end_ns INTEGER,
    used INTEGER,                                         -- 1 steady state, 0 warm-up, outlier, cut off
    compute_ns INTEGER, comm_exposed_ns INTEGER, copy_exposed_ns INTEGER, idle_input_ns INTEGER,
    idle_copy_ns INTEGER, idle_sync_ns INTEGER, idle_launch_ns INTEGER, idle_alloc_ns INTEGER,
    idle_host_ns INTEGER, unexplained_ns INTEGER
);

CREATE TABLE gap (                                        -- idle stretches of the GPU
    id INTEGER PRIMARY KEY, step INTEGER, start_ns INTEGER, end_ns INTEGER,
    cause INTEGER, api INTEGER, range INTEGER             -- -> string
);

CREATE TABLE finding (
    id INTEGER PRIMARY KEY, rank INTEGER,
    rule INTEGER, title INTEGER, summary INTEGER, kind INTEGER, -- -> string
    saves_low_ns INTEGER, saves_mid_ns INTEGER, saves_high_ns INTEGER -- per step
);

CREATE TABLE verification (                               -- reruns with the advice applied
    id INTEGER PRIMARY KEY, knob INTEGER, verdict INTEGER, -- -> string
    predicted_low_ns INTEGER, predicted_mid_ns INTEGER, predicted_high_ns INTEGER,
    measured_low_ns INTEGER, measured_mid_ns INTEGER, measured_high_ns INTEGER
);

CREATE TABLE result (kind TEXT PRIMARY KEY, json TEXT NOT NULL); -- as `gpuprof analyze --json` printed it

-- ---- views: the questions people ask ---------------------------------------------------------------------

CREATE VIEW kernel_time AS                                -- where does the GPU's time go?
SELECT s.text AS name, count(*) AS calls, sum(k.end_ns - k.start_ns) / 1e6 AS total_ms,
       avg(k.end_ns - k.start_ns) / 1e3 AS mean_us, max(k.end_ns - k.start_ns) / 1e3 AS max_us
FROM kernel k JOIN string s ON s.id = k.name GROUP BY k.name ORDER BY total_ms DESC;

CREATE VIEW copy_time AS                                  -- what is copied, and how fast?
SELECT CASE c.kind WHEN 1 THEN 'H2D' WHEN 2 THEN 'D2H' WHEN 8 THEN 'D2D' WHEN 9 THEN 'H2H' WHEN 10 THEN 'peer'
       ELSE 'other' END AS kind,
       CASE CASE WHEN c.kind = 2 THEN c.dst_kind ELSE c.src_kind END WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned'
       WHEN 3 THEN 'device' ELSE 'other' END AS host_memory,
       count(*) AS copies, sum(c.bytes) / 1e6 AS megabytes, sum(c.end_ns - c.start_ns) / 1e6 AS total_ms,
       sum(c.bytes) * 1.0 / nullif(sum(c.end_ns - c.start_ns), 0) AS gb_per_s
FROM copy c GROUP BY 1, 2 ORDER BY total_ms DESC;

CREATE VIEW gap_time AS                                   -- why is the GPU idle?
SELECT s.text AS cause, count(*) AS gaps, sum(g.end_ns - g.start_ns) / 1e6 AS total_ms,
       max(g.end_ns - g.start_ns) / 1e6 AS longest_ms
FROM gap g JOIN string s ON s.id = g.cause GROUP BY g.cause ORDER BY total_ms DESC;

CREATE VIEW step_time AS                                  -- one row per step, in ms
SELECT id, used, (end_ns - start_ns) / 1e6 AS step_ms, compute_ns / 1e6 AS compute_ms,
       comm_exposed_ns / 1e6 AS comm_exposed_ms, copy_exposed_ns / 1e6 AS copy_exposed_ms,
       idle_input_ns / 1e6 AS idle_input_ms, idle_copy_ns / 1e6 AS idle_copy_ms, idle_sync_ns / 1e6 AS idle_sync_ms,
       idle_launch_ns / 1e6 AS idle_launch_ms, idle_alloc_ns / 1e6 AS idle_alloc_ms,
       idle_host_ns / 1e6 AS idle_host_ms, unexplained_ns / 1e6 AS unexplained_ms
FROM step;

CREATE VIEW api_time AS                                   -- which CUDA calls does the host spend its time in?
SELECT s.text AS name, count(*) AS calls, sum(a.end_ns - a.start_ns) / 1e6 AS total_ms,
       max(a.end_ns - a.start_ns) / 1e3 AS max_us
FROM api a JOIN string s ON s.id = a.name GROUP BY a.name ORDER BY total_ms DESC;

CREATE VIEW range_time AS                                 -- and which ranges?
SELECT s.text AS name, count(*) AS ranges, sum(r.end_ns - r.start_ns) / 1e6 AS total_ms,
       avg(r.end_ns - r.start_ns) / 1e6 AS mean_ms
FROM range r JOIN string s ON s.id = r.name GROUP BY r.name ORDER BY total_ms DESC;

CREATE VIEW health_note AS                                -- can this profile be trusted?
SELECT CASE h.severity WHEN 0 THEN 'info' WHEN 1 THEN 'warning' ELSE 'error' END AS severity,
       c.text AS code, t.text AS text, h.value FROM health h JOIN string c ON c.id = h.code
       JOIN string t ON t.id = h.text ORDER BY h.severity DESC, h.id;

CREATE VIEW advice AS                                     -- what to change first?
SELECT f.rank, r.text AS rule, t.text AS title, s.text AS summary, k.text AS kind, f.saves_high_ns / 1e6 AS saves_up_to_ms
FROM finding f JOIN string r ON r.id = f.rule JOIN string t ON t.id = f.title JOIN string s ON s.id = f.summary
     JOIN string k ON k.id = f.kind ORDER BY f.rank;
