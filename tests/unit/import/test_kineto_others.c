/* The Kineto importer on traces of other programs: JAX, TensorFlow and SYCL in Kineto's format;
 * rocprofv3 and rocmProfileData in forms of their own; events of the allocator; and times that are
 * far apart. */
#include "analyzer/profile/sql/sql.h"
#include "tests/unit/kineto_case.h"

#define EVENT     "{'ph':'X','cat':'cpu_op','name':'a','pid':9,'tid':9,'ts':1,'dur':1}"
#define KERNEL(m) (*MEMORY_ROW(m, kernel, ROW_KERNEL, 0))
#define API(m)    (*MEMORY_ROW(m, api, ROW_API, 0))
#define COPY(m)   (*MEMORY_ROW(m, copy, ROW_COPY, 0))
#define DEVICE(m) (*MEMORY_ROW(m, device, ROW_DEVICE, 0))
#define SAMPLE(m) (*MEMORY_ROW(m, gpu_sample, ROW_GPU_SAMPLE, 1))

static const char *meta(const struct memory *m, const char *key)
{
    const char *value = memory_meta(m, key);
    return value ? value : "";
}

/* PyTorch for CUDA writes the keys of ROCm as well. */
TEST(cuda_names_no_hip)
{
    static const struct {
        const char *value, *platform;
    } cases[] = {{"'N/A'", ""}, {"60443483", "hip"}, {"'6.4.43483'", "hip"}, {"[1]", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct memory *m =
            kineto("{'hip_runtime_version': %s, 'traceEvents': [" EVENT "]}", cases[i].value);
        ck_assert_str_eq(meta(m, "platform"), cases[i].platform);
    }
}

/* As the libraries number it, or as text. */
TEST(cuda_versions)
{
    static const struct {
        const char *value, *version;
    } cases[] = {{"12040", "12040"}, {"'12.8.93'", "12080"}, {"'13.0'", "13000"},
                 {"'N/A'", ""},      {"'a.b'", ""},          {"'.'", ""},
                 {"'99999.1'", ""},  {"[12]", ""},           {"null", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct memory *m = kineto("{'cuda_runtime_version': %s, 'traceEvents': [" EVENT
                                  "], 'cuda_driver_version': %s}",
                                  cases[i].value, cases[i].value);
        ck_assert_str_eq(meta(m, "runtime_version"), cases[i].version);
        ck_assert_str_eq(meta(m, "driver_version"), cases[i].version);
    }
}

/* What the allocator holds, where it changes, of devices that the header names. */
TEST(memory_that_is_reserved)
{
    struct memory *m = kineto(
        "{'deviceProperties': [{'id': 1, 'name': 'A', 'totalGlobalMem': 99}],"
        " 'traceEvents': [{'ph':'X','cat':'cpu_op','name':'a','pid':9,'tid':9,'ts':1,"
        "'dur':1},"
        "{'ph':'i','cat':'cpu_instant_event','s':'t','name':'[memory]','pid':9,'tid':9,"
        "'ts':2,'args':{'Device Type':1,'Device Id':1,'Total Reserved':50}},"
        "{'ph':'i','cat':'cpu_instant_event','s':'t','name':'[memory]','pid':9,'tid':9,"
        "'ts':3,'args':{'Device Type':1,'Device Id':1,'Total Reserved':50}},"
        "{'ph':'i','cat':'cpu_instant_event','s':'t','name':'[memory]','pid':9,'tid':9,"
        "'ts':4,'args':{'Device Type':0,'Device Id':-1,'Total Reserved':70}},"
        "{'ph':'i','cat':'cpu_instant_event','s':'t','name':'[other]','pid':9,'tid':9,'ts':4,"
        "'args':{'Device Type':1,'Device Id':1,'Total Reserved':80}},{'name':'[memory]',"
        "'ph':'i','pid':9,'tid':9,'ts':5,'args':{'Device Type':1,'Device Id':1,"
        "'Total Reserved':60},'cat':'cpu_instant_event'}]}");
    ck_assert_int_eq(m->count[ROW_GPU_SAMPLE], 2);
    ck_assert_int_eq(SAMPLE(m).memory_used_bytes, 60);
    ck_assert_int_eq(SAMPLE(m).device, 1);
    ck_assert_int_eq(SAMPLE(m).time_ns, 4000);
    ck_assert_int_eq(SAMPLE(m).util_pct, -1);
}

/* Each piece that the allocator gives out or takes back, with what is in use and held then. */
TEST(pieces_of_memory)
{
    struct memory *m = kineto(
        "{'traceEvents': [{'ph':'X','cat':'cpu_op','name':'a','pid':9,'tid':9,'ts':1,'dur':9},"
        "{'ph':'i','cat':'cpu_instant_event','s':'t','name':'[memory]','pid':9,'tid':9,'ts':2,"
        "'args':{'Device Type':1,'Device Id':0,'Addr':77,'Bytes':512,'Total Allocated':1536,"
        "'Total Reserved':4096}},"
        "{'ph':'i','cat':'cpu_instant_event','s':'t','name':'[memory]','pid':9,'tid':9,'ts':3,"
        "'args':{'Device Type':0,'Device Id':-1,'Addr':5,'Bytes':8}},"
        "{'ph':'i','cat':'cpu_instant_event','s':'t','name':'[memory]','pid':9,'tid':9,'ts':4,"
        "'args':{'Device Type':1,'Device Id':0,'Addr':77,'Bytes':-512}}]}");
    ck_assert_int_eq(m->count[ROW_ALLOCATION], 2);
    const struct row_allocation *r = MEMORY_ROW(m, allocation, ROW_ALLOCATION, 0);
    ck_assert_int_eq(r->bytes, 512);
    ck_assert_int_eq(r->address, 77);
    ck_assert_int_eq(r->in_use_bytes, 1536);
    ck_assert_int_eq(r->held_bytes, 4096);
    ck_assert_int_eq(r->device, 1);
    ck_assert_int_eq(r->thread, 1);
    r = MEMORY_ROW(m, allocation, ROW_ALLOCATION, 1);
    ck_assert_int_eq(r->bytes, -512);
    ck_assert_int_eq(r->in_use_bytes, -1);
    ck_assert_int_eq(r->held_bytes, -1);
}

/* PyTorch's profiler lists what it sees: nothing, on a machine without a GPU. */
TEST(number_of_devices)
{
    static const struct {
        const char *header, *devices, *exported; /* by gpuprof, whose header says so */
    } cases[] = {{"'deviceProperties': [], ", "0", ""},
                 {"'deviceProperties': [{'id': 0, 'name': 'A'}], ", "1", ""},
                 {"'gpuprof': {'version': '0'}, 'deviceProperties': [], ", "0", "1"},
                 {"", "", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct memory *m = kineto("{%s'traceEvents': [" EVENT "]}", cases[i].header);
        ck_assert_str_eq(meta(m, "trace.devices"), cases[i].devices);
        ck_assert_str_eq(meta(m, "trace.exported"), cases[i].exported);
    }
}

/* Tools that write a trace anew put its header behind the events. */
TEST(devices_behind_the_events)
{
    struct memory *m = kineto(
        "{'traceEvents': [{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':3,'dur':1,"
        "'args':{'device':0,'stream':7,'correlation':7}}], 'deviceProperties': [{'id': 0,"
        " 'name': 'NVIDIA H200', 'numSms': 132}, {'id': 1, 'name': 'NVIDIA H200',"
        " 'numSms': 132}]}");
    ck_assert_int_eq(m->count[ROW_DEVICE], 2);
    for (int i = 0; i < 2; i++) {
        const struct row_device *d = (const struct row_device *)m->rows[ROW_DEVICE][i];
        ck_assert_int_eq(d->sm_count, 132);
        ck_assert_int_eq(d->ordinal, i);
    }
}

/* JAX and TensorFlow write no categories: processes and threads tell. */
TEST(xla_without_categories)
{
    struct memory *m = kineto(
        "{'displayTimeUnit':'ns','traceEvents': [{'ph':'M','pid':2,'name':'process_name',"
        "'args':{'name':'/device:GPU:1'}},"
        "{'ph':'M','pid':2,'tid':13,'name':'thread_name',"
        "'args':{'name':'Stream #13(Compute)'}},"
        "{'ph':'M','pid':2,'tid':14,'name':'thread_name','args':{'name':'XLA Modules'}},"
        "{'ph':'M','pid':7,'name':'process_name','args':{'name':'/host:CPU'}},"
        "{'ph':'X','pid':7,'tid':5,'ts':1,'dur':90,'name':'train','args':{'step_num':'3'}},"
        "{'ph':'X','pid':7,'tid':5,'ts':2,'dur':1,'name':'cuLaunchKernel',"
        "'args':{'correlation_id':'4'}},"
        "{'ph':'X','pid':2,'tid':13,'ts':5,'dur':7,'name':'fusion_3',"
        "'args':{'correlation_id':'4','hlo_op':'fusion.3'}},"
        "{'ph':'X','pid':2,'tid':14,'ts':5,'dur':7,'name':'jit_step'},"
        "{'ph':'X','pid':2,'tid':13,'ts':15,'dur':2,'name':'MemcpyD2H',"
        "'args':{'memcpy_details':'kind_src:device kind_dst:pinned size:4096 dest:0 async:1'}},"
        " {}]}");
    ck_assert_int_eq(m->count[ROW_KERNEL], 1);
    ck_assert_int_eq(KERNEL(m).correlation, 4);
    ck_assert_int_eq(API(m).correlation, 4);
    ck_assert_int_eq(API(m).layer, 1);
    ck_assert_int_eq(COPY(m).kind, COPY_D2H);
    ck_assert_int_eq(COPY(m).bytes, 4096);
    ck_assert_int_eq(DEVICE(m).ordinal, 1);
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, range, ROW_RANGE, 0)->name), "ProfilerStep#3");
    ck_assert_str_eq(meta(m, "framework"), "xla");
}

TEST(sycl_by_its_categories)
{
    struct memory *m =
        kineto("{'traceEvents': [{'ph':'X','cat':'xpu_runtime','name':'urEnqueueKernelLaunch',"
               "'pid':9,'tid':9,'ts':1,'dur':1,'args':{'correlation':7}},"
               "{'ph':'X','cat':'kernel','name':'gemm','pid':0,'tid':1,'ts':3,'dur':1,"
               "'args':{'correlation':7,'device':0,'stream':1}}]}");
    ck_assert_int_eq(API(m).correlation, KERNEL(m).correlation);
    ck_assert_str_eq(meta(m, "platform"), "xpu");
}

/* The first event sets the start; from there the second lasts longer than numbers reach. */
TEST(far_apart_events_are_left_out_and_counted)
{
    struct memory *m =
        kineto("[{'ph':'X','cat':'kernel','name':'a','pid':0,'tid':7,'ts':-4500000000000000,"
               "'dur':1},"
               "{'ph':'X','cat':'kernel','name':'b','pid':0,'tid':7,'ts':4500000000000000,"
               "'dur':2000000000000000}]");
    ck_assert_int_eq(m->count[ROW_KERNEL], 1);
    ck_assert_str_eq(memory_text(m, KERNEL(m).name), "a");
    ck_assert_int_eq(memory_health(m, "bad-events"), 1);
}

/* rocprofv3's JSON: what records refer to by numbers stands before them. */
TEST(rocprofv3)
{
    static const char text[] =
        "{'rocprofiler-sdk-tool': [{'metadata': {'node': {'hostname': 'h'}, 'pid': 9},"
        "'agents': [{'id': {'handle': 1}, 'type': 1, 'logical_node_type_id': 0},"
        "{'id': {'handle': 7}, 'type': 2, 'logical_node_type_id': 0, 'cu_count': 304, "
        "'product_name': 'AMD Instinct MI300X', 'mem_banks': [{'id': 1}]}],"
        "'strings': {'buffer_records': [{'kind': 'NONE', 'operations': []},"
        "{'kind': 'HIP_RUNTIME_API', 'operations': ['NONE', 'hipLaunchKernel']}],"
        "'marker_api': [{'key': 3, 'value': 'step'}]},"
        "'kernel_symbols': [{'kernel_id': 5, 'kernel_name': 'k.kd', "
        "'formatted_kernel_name': 'k(int)'}],"
        "'buffer_records': {'kernel_dispatch': [{'thread_id': 9, 'correlation_id': "
        "{'internal': 2}, 'start_timestamp': 2000, 'end_timestamp': 5000, 'dispatch_info': "
        "{'agent_id': {'handle': 7}, 'queue_id': {'handle': 4}, 'kernel_id': 5, "
        "'workgroup_size': {'x': 256, 'y': 1, 'z': 1}, 'grid_size': {'x': 1000, 'y': "
        "1, 'z': 1}}, 'stream_id': {'handle': 6}}],"
        "'hip_api': [{'kind': 1, 'operation': 1, 'thread_id': 9, 'correlation_id': "
        "{'internal': 2}, 'start_timestamp': 1000, 'end_timestamp': 1500}],"
        "'marker_api': [{'kind': 8, 'operation': 1, 'thread_id': 9, 'correlation_id': "
        "{'internal': 3}, 'start_timestamp': 500, 'end_timestamp': 9000}],"
        "'memory_copy': [{'thread_id': 9, 'correlation_id': {'internal': 4}, "
        "'start_timestamp': 6000, 'end_timestamp': 7000, 'src_agent_id': {'handle': 1}, "
        "'dst_agent_id': {'handle': 7}, 'bytes': 64}]}}]}";
    int rc;
    struct err e = ERR_INIT;
    struct memory *m = kineto_try(text, &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_str_eq(memory_text(m, KERNEL(m).name), "k(int)");
    ck_assert_int_eq(KERNEL(m).end_ns - KERNEL(m).start_ns, 3000);
    ck_assert_int_eq(KERNEL(m).grid_x, 4);
    ck_assert_int_eq(KERNEL(m).correlation, API(m).correlation);
    ck_assert_str_eq(memory_text(m, API(m).name), "hipLaunchKernel");
    ck_assert_int_eq(COPY(m).kind, COPY_H2D);
    ck_assert_int_eq(COPY(m).bytes, 64);
    ck_assert_int_eq(DEVICE(m).sm_count, 304);
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, range, ROW_RANGE, 0)->name), "step");
    ck_assert_str_eq(meta(m, "platform"), "hip");
    ck_assert_str_eq(meta(m, "source"), "rocprofv3");
    kineto_try("{'rocprofiler-sdk-tool': [{'agents': [{'id': ", &rc, &e);
    ck_assert_int_eq(rc, -1);
}

/* A database of rocmProfileData, and one of rocprofv3, which has other tables. */
TEST(rocm_profile_data)
{
    static const char *const schema[] = {
        "CREATE TABLE rocpd_string (id, string)",
        "INSERT INTO rocpd_string VALUES (1, 'hipLaunchKernel'), (2, ''), (3, 'k'), "
        "(4, 'KernelExecution'), (5, 'CopyDeviceToHost')",
        "CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid, tid, start, end, apiName_id, "
        "args_id)",
        "INSERT INTO rocpd_api VALUES (1, 9, 9, 100, 200, 1, 2)",
        "CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId, queueId, start, end, "
        "description_id, "
        "opType_id)",
        "INSERT INTO rocpd_op VALUES (1, 2, 0, 300, 900, 3, 4), (2, 2, 0, 950, 990, 2, 5)",
        "CREATE TABLE rocpd_api_ops (api_id, op_id)",
        "INSERT INTO rocpd_api_ops VALUES (1, 1)",
        "CREATE TABLE rocpd_copyapi (api_ptr_id, size)",
        "CREATE TABLE rocpd_kernelapi (api_ptr_id, gridX, gridY, gridZ, workgroupX, workgroupY, "
        "workgroupZ)",
        "INSERT INTO rocpd_kernelapi VALUES (1, 1000, 1, 1, 256, 1, 1)"};
    char path[] = "/tmp/gpuprof-rpd-XXXXXX";
    for (int other = 0; other < 2; other++) {
        struct err e = ERR_INIT;
        memcpy(path + sizeof path - 7, "XXXXXX", 6);
        close(mkstemp(path));
        unlink(path);
        struct sql *db = sql_open(path, SQL_CREATE, &e);
        ck_assert_msg(db != NULL, "%s", e.text);
        for (size_t i = 0; !other && i < sizeof schema / sizeof *schema; i++)
            ck_assert_msg(sql_exec(db, schema[i], &e) == 0, "%s", e.text);
        if (other)
            sql_exec(db, "CREATE TABLE rocpd_kernel_dispatch_00001 (id)", &e);
        sql_close(db);
        struct sink sink;
        struct memory *m = memory_new(&sink);
        const char *paths[] = {path};
        int rc = import_paths(paths, 1, &sink, &e);
        unlink(path);
        ck_assert_msg(rc == (other ? -1 : 0), "%s", e.text);
        if (other) {
            ck_assert_msg(strstr(e.text, "--output-format json"), "%s", e.text);
        } else {
            ck_assert_int_eq(KERNEL(m).end_ns - KERNEL(m).start_ns, 600);
            ck_assert_int_eq(KERNEL(m).grid_x, 4);
            ck_assert_int_eq(KERNEL(m).correlation, API(m).correlation);
            ck_assert_int_eq(COPY(m).kind, COPY_D2H);
        }
        memory_free(m);
    }
}
