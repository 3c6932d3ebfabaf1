/* A program that uses the driver's interface: it finds the calls by name, loads a kernel from PTX
 * and from a cubin, and shares streams and memory with the runtime. */
#include "tests/unit/vgpu_program.h"

#include <cuda.h>

#include <elf.h>
#include <string.h>

Suite *test_vgpu_driver_suite(void);

static const char ptx[] = "// made by hand\n.version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry scale_rows(\n .param .u64 p\n)\n{ ret; }\n";

/* As programs do: by name, for the version of their header. */
static void *call(const char *name)
{
    void *found = NULL;
    OK(cuGetProcAddress(name, &found, CUDA_VERSION, 0, NULL));
    ck_assert_ptr_nonnull(found);
    return found;
}

START_TEST(calls_are_found_by_name)
{
    void *found = NULL;
    CUdriverProcAddressQueryResult status;
    choose("h100");
    ck_assert_ptr_eq(call("cuInit"), (void *)cuInit);
    ck_assert_ptr_eq(call("cuMemAlloc"), (void *)cuMemAlloc_v2);
    ck_assert_int_eq(cuGetProcAddress("cuNoSuchCall", &found, CUDA_VERSION, 0, &status),
                     CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    ck_assert_ptr_null(found);
    OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &found, 12000, 0, NULL));
    ck_assert_ptr_eq(found, (void *)cuLaunchKernel);
}
END_TEST

START_TEST(context_is_the_devices)
{
    CUcontext c = NULL, now = NULL;
    CUdevice d = -1;
    unsigned flags;
    int active = -1, cc = 0;
    char name[128];
    choose("h100,devices=2");
    OK(cuInit(0));
    OK(cuDeviceGetName(name, sizeof name, 1));
    ck_assert_int_eq(strncmp(name, "Virtual ", 8), 0);
    OK(cuDeviceGetAttribute(&cc, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1));
    ck_assert_int_eq(cc, 9);
    OK(cuCtxGetCurrent(&now));
    ck_assert_ptr_null(now);
    OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    ck_assert_int_eq(active, 0);
    OK(cuDevicePrimaryCtxRetain(&c, 1));
    OK(cuCtxPushCurrent(c));
    OK(cuCtxGetDevice(&d));
    ck_assert_int_eq(d, 1);
    OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    ck_assert_int_eq(active, 1);
    OK(cuCtxPopCurrent(&now));
    ck_assert_ptr_eq(now, c);
    OK(cuCtxGetCurrent(&now));
    ck_assert_ptr_null(now);
    ck_assert_int_eq(cuDeviceGet(&d, 2), CUDA_ERROR_INVALID_DEVICE);
}
END_TEST

START_TEST(kernel_of_ptx_runs_in_the_runtimes_stream)
{
    CUmodule m;
    CUfunction f;
    choose(SLOW);
    cudaStream_t s = stream(0);
    OK(cuModuleLoadData(&m, ptx));
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "scale"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetFunction(&f, m, "scale_rows"));
    OK(cuModuleUnload(m));
    cudaEvent_t a = mark(s);
    OK(cuLaunchKernel(f, 1000, 1, 1, 256, 1, 1, 0, (CUstream)s, NULL, NULL));
    ck_assert_int_eq(cudaStreamQuery(s), cudaErrorNotReady);
    ck_assert_double_gt(between_ms(a, mark(s)), 0);
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, (CUstream)s, NULL, NULL),
                     cudaErrorInvalidConfiguration);
    ck_assert_int_eq(cuModuleLoadData(&m, "no device code"), CUDA_ERROR_INVALID_IMAGE);
}
END_TEST

/* A loop as long as its third argument says: the time tells whether arguments arrive. */
static const char counted[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry counted(\n"
    ".param .u8 a, .param .u64 .ptr .align 1 p,\n.param .u32 n, .param .align 8 .b8 s[24])\n{\n"
    ".reg .u32 %r<4>; .reg .pred %p<2>;\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\n$L:\n"
    "add.u32 %r2, %r2, 1;\nmul.lo.u32 %r3, %r2, %r1;\nsetp.lt.u32 %p1, %r2, %r1;\n"
    "@%p1 bra $L;\nret;\n}\n";

static double launched_ms(CUfunction f, void **params, void **extra)
{
    cudaEvent_t a = mark(NULL);
    OK(cuLaunchKernel(f, 1000, 1, 1, 256, 1, 1, 0, NULL, params, extra));
    return between_ms(a, mark(NULL));
}

static void CUDA_CB note_callback(CUstream stream, CUresult status, void *user)
{
    (void)stream;
    *(int *)user = status == CUDA_SUCCESS ? 7 : -1;
}

START_TEST(arguments_come_in_one_block)
{
    struct {
        char a;
        void *p;
        int n;
        char s[24];
    } block = {.n = 20000};
    ck_assert_uint_eq(sizeof block, 48);
    CUmodule m;
    CUfunction f;
    choose("a100-80,noise=0,connect=0");
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&m, counted));
    OK(cuModuleGetFunction(&f, m, "counted"));
    size_t bytes = sizeof block;
    void *args[] = {&block.a, &block.p, &block.n, block.s};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    launched_ms(f, args, NULL); /* reads the code */
    double listed = launched_ms(f, args, NULL), packed = launched_ms(f, NULL, extra);
    ck_assert_double_gt(listed, 0.5);
    ck_assert_double_eq_tol(packed, listed, 0.1 * listed);
    block.n = 20;
    launched_ms(f, NULL, extra); /* estimates it */
    ck_assert_double_lt(launched_ms(f, NULL, extra), 0.1 * listed);
}
END_TEST

/* Programs of then use calls that are deprecated today. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
START_TEST(launches_of_old_give_the_grid_alone)
{
    CUmodule m;
    CUfunction f;
    choose("a100-80,noise=0,connect=0");
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&m, counted));
    OK(cuModuleGetFunction(&f, m, "counted"));
    OK(cuFuncSetBlockShape(f, 256, 1, 1));
    OK(cuParamSetSize(f, 48));
    double took[2];
    for (int i = 0; i < 2; i++) {
        OK(cuParamSeti(f, 16, i ? 20000 : 20));
        OK(cuLaunchGrid(f, 1000, 1)); /* reads the code */
        cudaEvent_t a = mark(NULL);
        OK(cuLaunchGridAsync(f, 1000, 1, NULL));
        took[i] = between_ms(a, mark(NULL));
    }
    ck_assert_double_gt(took[1], 10 * took[0]);
    int called = 0;
    OK(cuStreamAddCallback(NULL, note_callback, &called, 0));
    OK(cudaDeviceSynchronize());
    ck_assert_int_eq(called, 7);
    ck_assert_int_eq(cuFuncSetBlockShape(f, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuParamSetv(f, 4090, took, sizeof took), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuLaunchGrid(NULL, 1, 1), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST
#pragma GCC diagnostic pop

/* A cubin of one kernel `k`: 40 registers, 2 KB of static shared memory; and of `shared_value`, a
 * managed variable of 24 bytes. */
static const void *cubin(void)
{
    static struct {
        Elf64_Ehdr head;
        char names[64];
        Elf64_Sym symbol[2];
        Elf64_Shdr section[4];
    } image = {.names = "\0.text.k\0.nv.shared.k\0.shstrtab\0shared_value"};
    image.head =
        (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                     .e_machine = 190,
                     .e_shoff = sizeof image.head + sizeof image.names + sizeof image.symbol,
                     .e_shnum = 4,
                     .e_shstrndx = 2};
    image.section[0] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_info = 40u << 24};
    image.section[1] = (Elf64_Shdr){.sh_name = 9, .sh_type = SHT_NOBITS, .sh_size = 2048};
    image.section[2] = (Elf64_Shdr){.sh_name = 22,
                                    .sh_type = SHT_STRTAB,
                                    .sh_offset = sizeof image.head,
                                    .sh_size = sizeof image.names};
    image.section[3] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                    .sh_offset = sizeof image.head + sizeof image.names,
                                    .sh_size = sizeof image.symbol,
                                    .sh_link = 2};
    image.symbol[1] = (Elf64_Sym){.st_name = 32,
                                  .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
                                  .st_other = 4,
                                  .st_shndx = 1,
                                  .st_size = 24};
    return &image;
}

/* Programs print what the compiler says. */
START_TEST(the_compilers_texts_are_empty)
{
    CUmodule m;
    char text[16] = "garbage";
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {text, (void *)sizeof text};
    choose("h100");
    OK(cuInit(0));
    OK(cuModuleLoadDataEx(&m, ptx, 2, options, values));
    ck_assert_str_eq(text, "");
    ck_assert_ptr_null(values[1]);
}
END_TEST

static size_t size_of_variable(CUmodule m, const char *name)
{
    CUdeviceptr at = 0;
    size_t bytes = 0;
    OK(cuModuleGetGlobal(&at, &bytes, m, name));
    ck_assert_uint_ne(at, 0);
    return bytes;
}

START_TEST(variables_of_a_module_have_their_size)
{
    static const char code[] =
        ".version 9.0\n.target sm_80\n.address_size 64\n"
        ".visible .global .attribute(.managed) .align 4 .u32 counter = 3;\n"
        ".visible .const .align 8 .f64 weight[6] = {0d0, 0d1};\n"
        ".global .align 16 .v4 .f32 grid[2][300000];\n"
        ".extern .global .align 4 .b8 elsewhere[64];\n"
        ".visible .entry k()\n{ .reg .u64 %counter2; mov.u64 %counter2, counter; ret; }\n";
    CUmodule m;
    CUlibrary l;
    CUdeviceptr at;
    size_t bytes = 0;
    choose("h100");
    OK(cuModuleLoadData(&m, code));
    ck_assert_uint_eq(size_of_variable(m, "weight"), 48);
    ck_assert_uint_eq(size_of_variable(m, "grid"), 9600000);
    ck_assert_uint_eq(size_of_variable(m, "counter"), 4);
    OK(cuModuleGetGlobal(&at, NULL, m, "counter"));
    *(volatile int *)(uintptr_t)at = 7; /* the host uses it as the device does */
    static const char *const none[] = {"count", "elsewhere", "k", "%counter2", "f64", ""};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        ck_assert_int_eq(cuModuleGetGlobal(&at, &bytes, m, none[i]), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleUnload(m));
    OK(cuLibraryLoadData(&l, cubin(), NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetManaged(&at, &bytes, l, "shared_value"));
    ck_assert_uint_eq(bytes, 24);
    memset((void *)(uintptr_t)at, 1, bytes);
    OK(cuLibraryGetModule(&m, l));
    ck_assert_uint_eq(size_of_variable(m, "shared_value"), 24);
    ck_assert_int_eq(cuLibraryGetGlobal(&at, &bytes, l, "k"), CUDA_ERROR_NOT_FOUND);
}
END_TEST

START_TEST(cubin_tells_what_a_kernel_needs)
{
    CUmodule m;
    CUfunction f;
    int registers = 0, shared = 0, blocks = 0;
    choose("h100");
    OK(cuModuleLoadData(&m, cubin()));
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "kk"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    OK(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    ck_assert_int_eq(registers, 40);
    ck_assert_int_eq(shared, 2048);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0));
    ck_assert_int_eq(blocks, 1); /* 40 registers of 1024 threads: the second does not fit */
}
END_TEST

START_TEST(memory_is_the_runtimes)
{
    CUdeviceptr p = 0, base = 0;
    size_t size = 0;
    struct cudaPointerAttributes a;
    int in = 42, out = 0;
    choose("h100");
    OK(cuMemAlloc(&p, 5000));
    OK(cudaPointerGetAttributes(&a, (void *)p));
    ck_assert_int_eq(a.type, cudaMemoryTypeDevice);
    OK(cuMemGetAddressRange(&base, &size, p + 100));
    ck_assert_uint_eq(base, p);
    ck_assert_uint_eq(size, 5000);
    OK(cuMemcpyHtoD(p, &in, sizeof in));
    OK(cudaMemcpy(&out, (void *)p, sizeof out, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(out, 42);
    OK(cuMemFree(p));
    ck_assert_int_eq(cuMemGetAddressRange(&base, &size, p), CUDA_ERROR_NOT_FOUND);
}
END_TEST

/* PTX through the linker, as samples compile at run time; a module takes what comes out. */
START_TEST(linked_ptx_is_a_module)
{
    static const char add[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry add() { ret; }\n";
    CUlinkState link;
    CUmodule m;
    CUfunction f;
    void *image;
    size_t size;
    int grid = 0, block = 0;
    choose("h100");
    OK(cuLinkCreate(0, NULL, NULL, &link));
    ck_assert_int_eq(cuLinkComplete(link, &image, &size), CUDA_ERROR_INVALID_IMAGE);
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)add, sizeof add, "add", 0, NULL,
                     NULL));
    ck_assert_int_eq(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/no/such/file", 0, NULL, NULL),
                     CUDA_ERROR_FILE_NOT_FOUND);
    OK(cuLinkComplete(link, &image, &size));
    OK(cuModuleLoadData(&m, image));
    OK(cuLinkDestroy(link));
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "sub"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetFunction(&f, m, "add"));
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
    ck_assert_int_eq(block, 1024);
    ck_assert_int_eq(grid, 2 * 132);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 200));
    ck_assert_int_le(block, 200);
}
END_TEST

/* A box of an array comes back as it went in; rows that do not fit are refused. */
START_TEST(arrays_are_copied_by_boxes)
{
    CUDA_ARRAY_DESCRIPTOR d = {8, 4, CU_AD_FORMAT_FLOAT, 1}, told = {0};
    CUarray a;
    float in[4][8], out[2][3] = {{0}};
    choose("h100");
    for (int i = 0; i < 32; i++)
        in[i / 8][i % 8] = (float)i;
    OK(cuArrayCreate(&a, &d));
    OK(cuArrayGetDescriptor(&told, a));
    ck_assert_uint_eq(told.Height, 4);
    CUDA_MEMCPY2D to = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = in,
                        .srcPitch = sizeof in[0],
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = a,
                        .WidthInBytes = sizeof in[0],
                        .Height = 4};
    OK(cuMemcpy2D(&to));
    CUDA_MEMCPY2D from = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = a,
                          .srcXInBytes = 2 * sizeof(float),
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = sizeof out[0],
                          .WidthInBytes = sizeof out[0],
                          .Height = 2};
    OK(cuMemcpy2DUnaligned(&from));
    ck_assert_float_eq(out[0][0], 10);
    ck_assert_float_eq(out[1][2], 20);
    from.dstPitch = 4;
    ck_assert_int_eq(cuMemcpy2D(&from), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(a));
    from.srcArray = NULL;
    ck_assert_int_eq(cuMemcpy2D(&from), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

Suite *test_vgpu_driver_suite(void)
{
    Suite *suite = suite_create("vgpu_driver");
    TCase *t = tcase_create("vgpu_driver");
    tcase_add_test(t, calls_are_found_by_name);
    tcase_add_test(t, context_is_the_devices);
    tcase_add_test(t, kernel_of_ptx_runs_in_the_runtimes_stream);
    tcase_add_test(t, arguments_come_in_one_block);
    tcase_add_test(t, launches_of_old_give_the_grid_alone);
    tcase_add_test(t, the_compilers_texts_are_empty);
    tcase_add_test(t, variables_of_a_module_have_their_size);
    tcase_add_test(t, cubin_tells_what_a_kernel_needs);
    tcase_add_test(t, linked_ptx_is_a_module);
    tcase_add_test(t, arrays_are_copied_by_boxes);
    tcase_add_test(t, memory_is_the_runtimes);
    suite_add_tcase(suite, t);
    return suite;
}
