/* The tables of a profile, column by column. A test checks them against schema.sql. */
#include "analyzer/profile/tables.h"

#include <string.h>

#define INT(row, member)                                                                           \
    {                                                                                              \
#member, offsetof(struct row, member), 0, 0                                                \
    }
/* A column that a later version of the schema added: it reads as -1, or as no
 * text, from older profiles. */
#define INT_SINCE(version, row, member)                                                            \
    {                                                                                              \
#member, offsetof(struct row, member), 0, version                                          \
    }
#define STR(row, member)                                                                           \
    {                                                                                              \
#member, offsetof(struct row, member), 1, 0                                                \
    }
#define STR_SINCE(version, row, member)                                                            \
    {                                                                                              \
#member, offsetof(struct row, member), 1, version                                          \
    }
#define DIM(i)                                                                                     \
    {                                                                                              \
        "dim" #i, offsetof(struct row_call, dim[i]), 0, 0                                          \
    }
#define COLUMNS(list) list, sizeof list / sizeof *list

static const struct column meta_columns[] = {
    INT(row_meta, id),
    INT(row_meta, process),
    STR(row_meta, key),
    STR(row_meta, value),
};

static const struct column process_columns[] = {
    INT(row_process, id),       INT(row_process, pid),        INT(row_process, ppid),
    INT(row_process, rank),     INT(row_process, local_rank), INT(row_process, world_size),
    INT(row_process, start_ns), INT(row_process, end_ns),     STR(row_process, command),
    STR(row_process, host),     INT(row_process, sealed),
};

static const struct column thread_columns[] = {
    INT(row_thread, id),
    INT(row_thread, process),
    INT(row_thread, tid),
    STR(row_thread, name),
};

static const struct column device_columns[] = {
    INT(row_device, id),        INT(row_device, process),      INT(row_device, ordinal),
    STR(row_device, name),      STR(row_device, uuid),         INT(row_device, is_virtual),
    INT(row_device, cc_major),  INT(row_device, cc_minor),     INT(row_device, sm_count),
    INT(row_device, clock_khz), INT(row_device, memory_bytes), INT(row_device, memory_bytes_per_s),
    INT(row_device, l2_bytes),  INT(row_device, copy_engines),
};

static const struct column stream_columns[] = {
    INT(row_stream, id),       INT(row_stream, process), INT(row_stream, device),
    INT(row_stream, context),  INT(row_stream, stream),  INT(row_stream, flags),
    INT(row_stream, priority),
};

static const struct column kernel_columns[] = {
    INT(row_kernel, id),           INT(row_kernel, process),   INT(row_kernel, stream),
    INT(row_kernel, start_ns),     INT(row_kernel, end_ns),    STR(row_kernel, name),
    INT(row_kernel, correlation),  INT(row_kernel, grid_x),    INT(row_kernel, grid_y),
    INT(row_kernel, grid_z),       INT(row_kernel, block_x),   INT(row_kernel, block_y),
    INT(row_kernel, block_z),      INT(row_kernel, registers), INT(row_kernel, smem_static),
    INT(row_kernel, smem_dynamic), INT(row_kernel, graph),     INT(row_kernel, graph_node),
};

static const struct column copy_columns[] = {
    INT(row_copy, id),       INT(row_copy, process),    INT(row_copy, stream),
    INT(row_copy, start_ns), INT(row_copy, end_ns),     INT(row_copy, correlation),
    INT(row_copy, kind),     INT(row_copy, src_kind),   INT(row_copy, dst_kind),
    INT(row_copy, bytes),    INT(row_copy, is_async),   INT(row_copy, peer_device),
    INT(row_copy, graph),    INT(row_copy, graph_node),
};

static const struct column memset_columns[] = {
    INT(row_memset, id),         INT(row_memset, process), INT(row_memset, stream),
    INT(row_memset, start_ns),   INT(row_memset, end_ns),  INT(row_memset, correlation),
    INT(row_memset, bytes),      INT(row_memset, value),   INT(row_memset, graph),
    INT(row_memset, graph_node),
};

static const struct column api_columns[] = {
    INT(row_api, id),          INT(row_api, process), INT(row_api, thread),
    INT(row_api, start_ns),    INT(row_api, end_ns),  STR(row_api, name),
    INT(row_api, correlation), INT(row_api, layer),   INT(row_api, result),
};

static const struct column sync_columns[] = {
    INT(row_sync, id),     INT(row_sync, process),    INT(row_sync, start_ns),
    INT(row_sync, end_ns), INT(row_sync, type),       INT(row_sync, stream),
    INT(row_sync, event),  INT(row_sync, event_sync), INT(row_sync, correlation),
};

static const struct column event_columns[] = {
    INT(row_event, id),        INT(row_event, process),    INT(row_event, stream),
    INT(row_event, event),     INT(row_event, event_sync), INT(row_event, correlation),
    INT(row_event, device_ns),
};

static const struct column overhead_columns[] = {
    INT(row_overhead, id),       INT(row_overhead, process), INT(row_overhead, thread),
    INT(row_overhead, start_ns), INT(row_overhead, end_ns),  STR(row_overhead, name),
};

static const struct column range_columns[] = {
    INT(row_range, id),      INT(row_range, process),
    INT(row_range, thread),  INT(row_range, start_ns),
    INT(row_range, end_ns),  STR(row_range, name),
    STR(row_range, domain),  INT(row_range, depth),
    INT(row_range, payload), STR_SINCE(6, row_range, shapes),
};

static const struct column call_columns[] = {
    INT(row_call, id),
    INT(row_call, process),
    INT(row_call, thread),
    INT(row_call, start_ns),
    INT(row_call, end_ns),
    STR(row_call, function),
    INT(row_call, family),
    INT(row_call, in_type),
    INT(row_call, weight_type),
    INT(row_call, out_type),
    INT(row_call, compute_type),
    INT(row_call, in_layout),
    INT(row_call, weight_layout),
    INT(row_call, math),
    INT(row_call, algo),
    INT(row_call, workspace_bytes),
    DIM(0),
    DIM(1),
    DIM(2),
    DIM(3),
    DIM(4),
    DIM(5),
    DIM(6),
    DIM(7),
    DIM(8),
    DIM(9),
    DIM(10),
    DIM(11),
};

static const struct column loader_columns[] = {
    INT(row_loader, id),       INT(row_loader, process), INT(row_loader, thread),
    INT(row_loader, start_ns), INT(row_loader, end_ns),  INT(row_loader, what),
    INT(row_loader, worker),   INT(row_loader, batch),   INT(row_loader, cpu_ns),
};

static const struct column collective_columns[] = {
    INT(row_collective, id),
    INT(row_collective, process),
    INT_SINCE(2, row_collective, thread),
    INT(row_collective, start_ns),
    INT(row_collective, end_ns),
    STR(row_collective, name),
    INT(row_collective, kernel),
    INT(row_collective, communicator),
    INT(row_collective, sequence),
    INT(row_collective, bytes),
    INT(row_collective, dtype),
    INT(row_collective, ranks),
    INT_SINCE(2, row_collective, rank),
    INT_SINCE(2, row_collective, root),
    STR_SINCE(7, row_collective, group_name),
};

static const struct column host_sample_columns[] = {
    INT(row_host_sample, id),
    INT(row_host_sample, process),
    INT(row_host_sample, thread),
    INT(row_host_sample, time_ns),
    INT(row_host_sample, cpu_ns),
    INT(row_host_sample, run_queue_ns),
    INT(row_host_sample, io_wait_ns),
    INT(row_host_sample, major_faults),
    INT_SINCE(4, row_host_sample, storage_bytes),
    INT_SINCE(4, row_host_sample, read_bytes),
};

static const struct column gpu_sample_columns[] = {
    INT(row_gpu_sample, id),
    INT(row_gpu_sample, device),
    INT(row_gpu_sample, time_ns),
    INT(row_gpu_sample, util_pct),
    INT(row_gpu_sample, memory_used_bytes),
    INT(row_gpu_sample, sm_clock_mhz),
    INT(row_gpu_sample, memory_clock_mhz),
    INT(row_gpu_sample, power_mw),
    INT(row_gpu_sample, temperature_c),
    INT(row_gpu_sample, throttle_reasons),
    INT(row_gpu_sample, pcie_tx_bytes_per_s),
    INT(row_gpu_sample, pcie_rx_bytes_per_s),
};

static const struct column health_columns[] = {
    INT(row_health, id),   INT(row_health, process), INT(row_health, severity),
    STR(row_health, code), STR(row_health, text),    INT(row_health, value),
};

static const struct column recorded_columns[] = {
    INT(row_recorded, id),         INT(row_recorded, process),      INT(row_recorded, start_ns),
    INT(row_recorded, end_ns),     INT(row_recorded, gpu_start_ns), INT(row_recorded, gpu_end_ns),
    INT(row_recorded, first_step),
};

static const struct column step_block_columns[] = {
    INT(row_step_block, id),     INT(row_step_block, process),  INT(row_step_block, first_step),
    INT(row_step_block, steps),  INT(row_step_block, start_ns), INT(row_step_block, end_ns),
    INT(row_step_block, min_ns), INT(row_step_block, max_ns),
};

static const struct column stack_columns[] = {
    INT(row_stack, id),       INT(row_stack, caller), STR(row_stack, file),
    STR(row_stack, function), INT(row_stack, line),   STR_SINCE(10, row_stack, source),
};

static const struct column stack_sample_columns[] = {
    INT(row_stack_sample, id),       INT(row_stack_sample, process), INT(row_stack_sample, thread),
    INT(row_stack_sample, start_ns), INT(row_stack_sample, end_ns),  INT(row_stack_sample, looks),
    INT(row_stack_sample, state),    STR(row_stack_sample, call),    INT(row_stack_sample, stack),
};

static const struct column allocation_columns[] = {
    INT(row_allocation, id),
    INT(row_allocation, device),
    INT(row_allocation, thread),
    INT(row_allocation, time_ns),
    INT(row_allocation, bytes),
    INT(row_allocation, address),
    INT(row_allocation, in_use_bytes),
    INT(row_allocation, held_bytes),
    INT_SINCE(12, row_allocation, stack),
};

static const struct column launch_line_columns[] = {
    INT(row_launch_line, id),       INT(row_launch_line, process), INT(row_launch_line, thread),
    INT(row_launch_line, start_ns), INT(row_launch_line, end_ns),  INT(row_launch_line, stretch),
    INT(row_launch_line, what),     INT(row_launch_line, stack),
};

const struct table tables[ROW_KINDS] = {
    [ROW_META] = {"meta", COLUMNS(meta_columns), sizeof(struct row_meta), 0},
    [ROW_PROCESS] = {"process", COLUMNS(process_columns), sizeof(struct row_process), 0},
    [ROW_THREAD] = {"thread", COLUMNS(thread_columns), sizeof(struct row_thread), 0},
    [ROW_DEVICE] = {"device", COLUMNS(device_columns), sizeof(struct row_device), 0},
    [ROW_STREAM] = {"stream", COLUMNS(stream_columns), sizeof(struct row_stream), 0},
    [ROW_KERNEL] = {"kernel", COLUMNS(kernel_columns), sizeof(struct row_kernel), 0},
    [ROW_COPY] = {"copy", COLUMNS(copy_columns), sizeof(struct row_copy), 0},
    [ROW_MEMSET] = {"memset", COLUMNS(memset_columns), sizeof(struct row_memset), 0},
    [ROW_API] = {"api", COLUMNS(api_columns), sizeof(struct row_api), 0},
    [ROW_SYNC] = {"sync", COLUMNS(sync_columns), sizeof(struct row_sync), 0},
    [ROW_EVENT] = {"cuda_event", COLUMNS(event_columns), sizeof(struct row_event), 0},
    [ROW_OVERHEAD] = {"overhead", COLUMNS(overhead_columns), sizeof(struct row_overhead), 0},
    [ROW_RANGE] = {"range", COLUMNS(range_columns), sizeof(struct row_range), 0},
    [ROW_CALL] = {"library_call", COLUMNS(call_columns), sizeof(struct row_call), 0},
    [ROW_LOADER] = {"loader_span", COLUMNS(loader_columns), sizeof(struct row_loader), 0},
    [ROW_COLLECTIVE] = {"collective", COLUMNS(collective_columns), sizeof(struct row_collective),
                        0},
    [ROW_HOST_SAMPLE] = {"host_sample", COLUMNS(host_sample_columns),
                         sizeof(struct row_host_sample), 0},
    [ROW_GPU_SAMPLE] = {"gpu_sample", COLUMNS(gpu_sample_columns), sizeof(struct row_gpu_sample),
                        0},
    [ROW_HEALTH] = {"health", COLUMNS(health_columns), sizeof(struct row_health), 0},
    [ROW_RECORDED] = {"recorded", COLUMNS(recorded_columns), sizeof(struct row_recorded), 3},
    [ROW_STEP_BLOCK] = {"step_block", COLUMNS(step_block_columns), sizeof(struct row_step_block),
                        3},
    [ROW_STACK] = {"stack", COLUMNS(stack_columns), sizeof(struct row_stack), 8},
    [ROW_STACK_SAMPLE] = {"stack_sample", COLUMNS(stack_sample_columns),
                          sizeof(struct row_stack_sample), 8},
    [ROW_LAUNCH_LINE] = {"launch_line", COLUMNS(launch_line_columns),
                         sizeof(struct row_launch_line), 9},
    [ROW_ALLOCATION] = {"allocation", COLUMNS(allocation_columns), sizeof(struct row_allocation),
                        11},
};

static const struct column step_columns[] = {
    INT(row_step, id),
    INT(row_step, start_ns),
    INT(row_step, end_ns),
    INT(row_step, used),
    INT(row_step, from_ns),
    INT(row_step, to_ns),
    INT(row_step, compute_ns),
    INT(row_step, comm_exposed_ns),
    INT(row_step, copy_exposed_ns),
    INT(row_step, idle_input_ns),
    INT(row_step, idle_copy_ns),
    INT(row_step, idle_sync_ns),
    INT(row_step, idle_launch_ns),
    INT(row_step, idle_alloc_ns),
    INT(row_step, idle_host_ns),
    INT(row_step, idle_queued_ns),
    INT(row_step, unexplained_ns),
};

static const struct column gap_columns[] = {
    INT(row_gap, id),    INT(row_gap, step), INT(row_gap, start_ns), INT(row_gap, end_ns),
    STR(row_gap, cause), STR(row_gap, api),  STR(row_gap, range),
};

static const struct column finding_columns[] = {
    INT(row_finding, id),           INT(row_finding, rank),         STR(row_finding, rule),
    STR(row_finding, title),        STR(row_finding, summary),      STR(row_finding, kind),
    INT(row_finding, saves_low_ns), INT(row_finding, saves_mid_ns), INT(row_finding, saves_high_ns),
};

static const struct column trial_columns[] = {
    INT(row_trial, id),
    STR(row_trial, setting),
    STR(row_trial, verdict),
    INT(row_trial, predicted_low_ns),
    INT(row_trial, predicted_mid_ns),
    INT(row_trial, predicted_high_ns),
    INT(row_trial, measured_low_ns),
    INT(row_trial, measured_mid_ns),
    INT(row_trial, measured_high_ns),
    STR(row_trial, rule),
    INT(row_trial, step_ns),
    INT(row_trial, runs_without),
    INT(row_trial, runs_with),
    INT(row_trial, tried_realtime_ns),
    INT(row_trial, own_low_ns),
    INT(row_trial, own_high_ns),
};

const struct table derived_tables[DERIVED_KINDS] = {
    [DERIVED_STEP] = {"step", COLUMNS(step_columns), sizeof(struct row_step), 0},
    [DERIVED_GAP] = {"gap", COLUMNS(gap_columns), sizeof(struct row_gap), 0},
    [DERIVED_FINDING] = {"finding", COLUMNS(finding_columns), sizeof(struct row_finding), 0},
    [DERIVED_TRIAL] = {"trial", COLUMNS(trial_columns), sizeof(struct row_trial), 5},
};

int table_time_offset(enum row_kind kind)
{
    if (kind == ROW_PROCESS || kind == ROW_RECORDED || kind == ROW_STEP_BLOCK)
        return -1;
    for (size_t i = 0; i < tables[kind].count; i++)
        if (strcmp(tables[kind].columns[i].name, "start_ns") == 0 ||
            strcmp(tables[kind].columns[i].name, "time_ns") == 0)
            return tables[kind].columns[i].offset;
    return -1;
}

int table_process_offset(enum row_kind kind)
{
    for (size_t i = 0; i < tables[kind].count; i++)
        if (strcmp(tables[kind].columns[i].name, "process") == 0)
            return tables[kind].columns[i].offset;
    return -1;
}
