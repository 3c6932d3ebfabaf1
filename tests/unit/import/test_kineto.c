/* The Kineto importer on small traces of every generation, which the test writes. */
#include "tests/unit/kineto_case.h"

TEST(todays_form)
{
    struct memory *c = kineto(
        "{'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'NVIDIA H200',"
        " 'totalGlobalMem': 150, 'computeMajor': 9, 'computeMinor': 0, 'numSms': 132}],"
        "'distributedInfo': {'rank': 3, 'world_size': 8}, 'traceEvents': [{'ph':'X',"
        "'cat':'cuda_runtime','name':'cudaLaunchKernel','pid':42,'tid':43,'ts':100.5,"
        "'dur':3.25,'args':{'cbid':211,'correlation':7}},"
        "{'ph':'s','id':7,'pid':42,'tid':43,'ts':100.5,'cat':'ac2g','name':'ac2g'},"
        "{'ph':'X','cat':'kernel','name':'gemm<\\'a\\'>','pid':0,'tid':7,'ts':110,"
        "'dur':20.001,'args':{'device':0,'context':1,'stream':7,'correlation':7,"
        "'registers per thread':64,'shared memory':128,'grid':[4,2,1],'block':[256,1,1]}},"
        "{'ph':'X','cat':'gpu_memcpy','name':'Memcpy HtoD (Pageable -> Device)','pid':0,"
        "'tid':7,'ts':140,'dur':2,'args':{'device':0,'stream':7,'correlation':8,"
        "'bytes':4096}},"
        "{'ph':'X','cat':'cuda_sync','name':'Stream Sync','pid':0,'tid':7,'ts':150,'dur':9,"
        "'args':{'stream':7,'correlation':9}},"
        "{'ph':'X','cat':'user_annotation','name':'ProfilerStep#5','pid':42,'tid':43,'ts':90,"
        "'dur':100,'args':{'External id':1}}],'baseTimeNanoseconds':5}");
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->end_ns - LAST(c, kernel, KERNEL)->start_ns, 20001);
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->start_ns - LAST(c, api, API)->start_ns, 9500);
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->correlation, LAST(c, api, API)->correlation);
    ck_assert_str_eq(memory_text(c, LAST(c, kernel, KERNEL)->name), "gemm<\"a\">");
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->grid_y, 2);
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->registers, 64);
    ck_assert_int_eq(LAST(c, copy, COPY)->kind, COPY_H2D);
    ck_assert_int_eq(LAST(c, copy, COPY)->src_kind, MEMORY_PAGEABLE);
    ck_assert_int_eq(LAST(c, copy, COPY)->dst_kind, MEMORY_DEVICE);
    ck_assert_int_eq(LAST(c, copy, COPY)->bytes, 4096);
    ck_assert_int_eq(LAST(c, sync, SYNC)->type, SYNC_STREAM);
    ck_assert_int_eq(LAST(c, range, RANGE)->start_ns, -10500);
    ck_assert_int_eq(LAST(c, device, DEVICE)->sm_count, 132);
    ck_assert_int_eq(LAST(c, process, PROCESS)->rank, 3);
    ck_assert_int_eq(LAST(c, process, PROCESS)->pid, 42);
    ck_assert_str_eq(memory_meta(c, "have"),
                     "kernels,copies,memsets,memory_kinds,api,sync,ranges,ranks,device");
}

TEST(a_copy_of_pytorchs_monitor_says_its_kind_beside_its_name)
{
    struct memory *c =
        kineto("[{'ph':'X','cat':'gpu_memcpy','name':'Memcpy','pid':0,'tid':7,'ts':140,'dur':2,"
               "'args':{'device':0,'context':1,'stream':7,'correlation':8,'bytes':4096,"
               "'copy kind':'DtoH','src kind':'device','dst kind':'pageable','flags':1}}]");
    ck_assert_int_eq(LAST(c, copy, COPY)->kind, COPY_D2H);
    ck_assert_int_eq(LAST(c, copy, COPY)->src_kind, MEMORY_DEVICE);
    ck_assert_int_eq(LAST(c, copy, COPY)->dst_kind, MEMORY_PAGEABLE);
    ck_assert_ptr_nonnull(strstr(memory_meta(c, "have"), "memory_kinds"));
}

TEST(form_of_2021_with_texts_for_ids_and_a_bare_list)
{
    struct memory *c =
        kineto("[{'ph':'X','cat':'Operator','name':'aten::empty','pid':25738,'tid':'25738',"
               "'ts':1623142623460111,'dur':25,'args':{'Input Dims':[[],[]]}},"
               "{'ph':'X','cat':'Kernel','name':'k','pid':0,'tid':'stream 7','ts':1623142623460200,"
               "'dur':2,'args':{'device':0,'correlation':3}},"
               "{'ph':'X','cat':'Runtime','name':'cudaLaunchKernel','pid':25738,'tid':'25738',"
               "'ts':1623142623460190,'dur':5,'args':{'correlation':3}},"
               "{'ph':'X','cat':'Trace','ts':1,'dur':1,'pid':'Traces','tid':'x','name':'p'}]");
    ck_assert_int_eq(c->count[ROW_KERNEL], 1);
    ck_assert_int_eq(LAST(c, stream, STREAM)->stream, 7);
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->start_ns, 89000);
    ck_assert_int_eq(c->count[ROW_THREAD], 1);
    ck_assert_str_eq(memory_meta(c, "have"), "kernels,copies,memsets,api,ranges,device");
}

TEST(hip_with_a_call_of_its_driver)
{
    struct memory *c =
        kineto("{'schemaVersion':1,'traceEvents':[{'ph':'X','cat':'hip_driver',"
               "'name':'hipModuleLaunchKernel','pid':42,'tid':43,'ts':100,'dur':5,"
               "'args':{'correlation':7}},"
               "{'ph':'X','cat':'kernel','name':'Cijk_Ailk_Bljk','pid':2,'tid':0,'ts':110,'dur':20,"
               "'args':{'device':2,'stream':0,'correlation':7}}]}");
    ck_assert_int_eq(c->count[ROW_API], 1);
    ck_assert_int_eq(LAST(c, api, API)->layer, 1);
    ck_assert_str_eq(memory_text(c, LAST(c, api, API)->name), "hipModuleLaunchKernel");
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->correlation, LAST(c, api, API)->correlation);
    ck_assert_int_eq(LAST(c, stream, STREAM)->stream, 0);
    ck_assert_int_eq(LAST(c, stream, STREAM)->flags,
                     STREAM_LEGACY_DEFAULT); /* 7 in CUPTI, 0 in HIP */
}

TEST(texts_for_process_ids)
{
    struct memory *c =
        kineto("[{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':'25738',"
               "'tid':'25739','ts':'100','dur':5,'args':{'correlation':'3'}},"
               "{'ph':'X','cat':'kernel','name':'k','pid':'0','tid':'stream 7','ts':110,'dur':2,"
               "'args':{'device':0,'stream':7,'correlation':3}}]");
    ck_assert_int_eq(LAST(c, process, PROCESS)->pid, 25738);
    ck_assert_int_eq(c->count[ROW_PROCESS], 1);
    ck_assert_int_eq(c->count[ROW_KERNEL], 1);
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->correlation, LAST(c, api, API)->correlation);
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->start_ns - LAST(c, api, API)->start_ns, 10000);
}

/* Merging tools write the rank before each pid; correlations then occur once a rank. */
TEST(ranks_in_brackets_before_the_pids)
{
    struct memory *c =
        kineto("{'traceEvents': [{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel',"
               "'pid':'[TP00] 4242','tid':4242,'ts':1,'dur':1,'args':{'correlation':7}},"
               "{'ph':'X','cat':'kernel','name':'k','pid':'[TP00] 0','tid':7,'ts':3,'dur':1,"
               "'args':{'device':0,'stream':7,'correlation':7}},"
               "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':'[TP03] 4243',"
               "'tid':4242,'ts':1,'dur':1,'args':{'correlation':7}},"
               "{'ph':'X','cat':'kernel','name':'k','pid':'[TP03] 3','tid':7,'ts':3,'dur':1,"
               "'args':{'device':3,'stream':7,'correlation':7}}]}");
    ck_assert_int_eq(c->count[ROW_PROCESS], 2);
    ck_assert_int_eq(c->count[ROW_THREAD], 2);
    ck_assert_int_eq(c->count[ROW_STREAM], 2);
    ck_assert_int_eq(LAST(c, process, PROCESS)->rank, 3);
    ck_assert_int_eq(LAST(c, process, PROCESS)->pid, 4243);
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->process, 2);
    ck_assert_int_eq(LAST(c, api, API)->process, 2);
    ck_assert_int_eq(LAST(c, device, DEVICE)->ordinal, 3);
}

/* TraceLens adds a power of ten for each rank to the pids of the ranks behind the first, and keeps
 * what they were. */
TEST(ranks_fused_by_their_pids)
{
    struct memory *c =
        kineto("{'traceEvents': [{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':4242,'tid':4242,"
               "'ts':1,'dur':3,'args':{'rank':0,'pid_raw':4242}},"
               "{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':3,'dur':1,"
               "'args':{'device':0,'stream':7,'correlation':7,'rank':0,'pid_raw':0}},"
               "{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':104249,'tid':4249,'ts':1,'dur':3,"
               "'args':{'rank':1,'pid_raw':4249}},"
               "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':104249,'tid':4249,"
               "'ts':1,'dur':1,'args':{'correlation':1007,'rank':1,'pid_raw':4249}},"
               "{'ph':'X','cat':'kernel','name':'k','pid':100001,'tid':7,'ts':3,'dur':1,"
               "'args':{'device':1,'stream':7,'correlation':1007,'rank':1,'pid_raw':1}}]}");
    ck_assert_int_eq(c->count[ROW_PROCESS], 2);
    ck_assert_int_eq(c->count[ROW_THREAD], 2);
    ck_assert_int_eq(c->count[ROW_STREAM], 2);
    ck_assert_int_eq(LAST(c, process, PROCESS)->rank, 1);
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->process, 2);
    ck_assert_int_eq(LAST(c, api, API)->process, 2);
    ck_assert_int_eq(LAST(c, device, DEVICE)->ordinal, 1);
    /* kernels alone: their pids do not tell how far apart ranks are */
    c = kineto(
        "{'traceEvents': [{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':3,'dur':1,"
        "'args':{'device':0,'stream':7,'rank':0,'pid_raw':0}},"
        "{'ph':'X','cat':'kernel','name':'k','pid':300001,'tid':7,'ts':3,'dur':1,"
        "'args':{'device':1,'stream':7,'rank':3,'pid_raw':1}}]}");
    ck_assert_int_eq(c->count[ROW_PROCESS], 2);
    ck_assert_int_eq(LAST(c, process, PROCESS)->rank, 3);
}

/* Our own exports of several ranks say in their header whose pids are whose. */
TEST(ranks_told_by_the_header)
{
    struct memory *c =
        kineto("{'gpuprof': {'ranks': [{'first_pid': 5000, 'last_pid': 5999, 'pid': 77, 'rank': 4,"
               " 'world_size': 8}, {'first_pid': 8000, 'last_pid': 8999, 'pid': 78, 'rank': 7,"
               " 'world_size': 8}]}, 'deviceProperties': [{'id': 0, 'pid': 5000, 'name': 'A'},"
               " {'id': 0, 'pid': 8000, 'name': 'B'}], 'traceEvents': [{'ph':'X','cat':'kernel',"
               "'name':'k','pid':8000,'tid':7,'ts':3,'dur':1,'args':{'device':0,'stream':7,"
               "'correlation':7}}]}");
    ck_assert_int_eq(c->count[ROW_PROCESS], 2);
    ck_assert_int_eq(c->count[ROW_DEVICE], 2);
    ck_assert_int_eq(LAST(c, process, PROCESS)->rank, 7);
    ck_assert_int_eq(LAST(c, process, PROCESS)->pid, 78);
    ck_assert_int_eq(LAST(c, process, PROCESS)->world_size, 8);
    ck_assert_int_eq(LAST(c, kernel, KERNEL)->process, 2);
    ck_assert_int_eq(LAST(c, stream, STREAM)->device, 2);
    ck_assert_int_eq(LAST(c, device, DEVICE)->process, 2);
}

TEST(bad_numbers_are_left_out_and_counted)
{
    struct memory *c =
        kineto("[{'ph':'X','cat':'kernel','name':'a','pid':0,'tid':7,'ts':NaN,'dur':1},"
               "{'ph':'X','cat':'kernel','name':'b','pid':0,'tid':7,'ts':1e300,'dur':1},"
               "{'ph':'X','cat':'kernel','name':'c','pid':0,'tid':7,'ts':10,'dur':-4},"
               "{'ph':'X','cat':'kernel','name':'d','pid':0,'tid':7,'ts':10,'dur':4}, 5, [], 'x']");
    ck_assert_int_eq(c->count[ROW_KERNEL], 1);
    ck_assert_int_eq(c->count[ROW_HEALTH], 1);
}

/* A collective's bytes are its elements by their type; of a type that is not known, nobody knows.
 */
TEST_EACH(collectives_have_bytes, 0, 5)
{
    static const struct {
        const char *args;
        int64_t bytes;
    } cases[] = {{"'In msg nelems':2873320,'dtype':'BFloat16'", 5746640},
                 {"'dtype':'Float','In msg nelems':10", 40},
                 {"'dtype':'Mystery','In msg nelems':10", -1},
                 {"'In msg nelems':10", -1},
                 {"'dtype':'Float'", -1}};
    struct memory *c =
        kineto("{'traceEvents': [{'ph':'X','cat':'kernel','name':'ncclDevKernel','pid':0,'tid':7,"
               "'ts':110,'dur':20,'args':{'device':0,'stream':7,'correlation':7,"
               "'Collective name':'allreduce','Group size':8,%s}}]}",
               cases[_i].args);
    ck_assert_int_eq(c->count[ROW_COLLECTIVE], 1);
    ck_assert_int_eq(LAST(c, collective, COLLECTIVE)->bytes, cases[_i].bytes);
    ck_assert_int_eq(LAST(c, collective, COLLECTIVE)->ranks, 8);
    ck_assert_int_eq(LAST(c, collective, COLLECTIVE)->kernel, LAST(c, kernel, KERNEL)->id);
    ck_assert_str_eq(memory_text(c, LAST(c, collective, COLLECTIVE)->name), "allreduce");
}

TEST(foreign_and_cut_files_say_so_in_one_line)
{
    static const char *const bad[] = {"{'a':1}", "{'traceEvents':[{'ph':'X'", "[1,2",
                                      "{'traceEvents':7}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int rc;
        struct err e = ERR_INIT;
        kineto_try(bad[i], &rc, &e);
        ck_assert_int_eq(rc, -1);
        ck_assert_ptr_null(strchr(e.text, '\n'));
        ck_assert_ptr_nonnull(strstr(e.text, "trace"));
    }
}
