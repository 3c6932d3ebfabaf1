/* Finds the framework that drives the program: from the recording's facts,
 * otherwise from kernel names. */
#include "analyzer/queries/query.h"
#include "analyzer/timeline/classify.h"
#include "wire/fact_keys.h"

#include <ctype.h>
#include <string.h>

static bool is_framework(const struct facts *f, const char *name)
{
    const char *framework = timeline_meta(f->tl, "framework");
    return framework && strcmp(framework, name) == 0;
}

static bool runs_kernel(const struct facts *f, const char *words)
{
    for (size_t i = 0; i < f->totals.kernel_count; i++)
        if (query_name_has(tl_text(f->tl, f->tl->ops[f->totals.kernels[i].longest].full_name),
                           words))
            return true;
    return false;
}

bool query_is_product(const char *range)
{
    static const char *const names[] = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(range, names[i]) == 0)
            return true;
    return false;
}

bool query_of_python(const struct facts *f)
{
    const char *exe = timeline_meta(f->tl, "exe");
    return (exe && strstr(exe, "python")) || timeline_meta(f->tl, FACT_PYTHON_VERSION) ||
           is_framework(f, "pytorch");
}

bool query_of_pytorch(const struct facts *f)
{
    if (is_framework(f, "pytorch") || timeline_meta(f->tl, FACT_TORCH_VERSION))
        return true;
    if (!query_of_python(f) || runs_kernel(f, "at::native|2at6native|triton_"))
        return query_of_python(f);
    const char *source = timeline_meta(f->tl, "source");
    /* the hook would have recorded PyTorch's version */
    bool ours = source && strcmp(source, "run") == 0;
    return !ours && !runs_kernel(f, "cupy_|cudapy|_cuda_kernel_forward|tensorflow::");
}

bool query_fused_by_compiler(const struct facts *f)
{
    size_t kernels = 0, fused = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *op = &f->tl->ops[i];
        if (op->kind != OP_KERNEL || !query_used(f, i))
            continue;
        kernels++;
        fused += op->class.fused;
    }
    return fused * QUERY_SOME > kernels;
}

const char *query_other_accelerator(const struct facts *f)
{
    static const struct {
        const char *words, *name;
    } known[] = {{"mtia::|mtia:|MTIA |MTIA_|_mtia|mtia_", "MTIA"},
                 {"npu::|torch_npu|aclnn|Ascend", "Ascend NPU"},
                 {"hpu::|habana|Gaudi", "Gaudi HPU"}};
    const struct str_table *s = &f->tl->strings;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (uint32_t i = 0; i < s->n; i++)
            if (query_name_has(s->text[i], known[k].words))
                return known[k].name;
    return NULL;
}

bool query_of_libtorch(const struct facts *f)
{
    return !query_of_python(f) && runs_kernel(f, "at::native|2at6native");
}

bool query_of_xla(const struct facts *f)
{
    const struct str_table *s = &f->tl->strings;
    if (timeline_meta(f->tl, "framework"))
        return is_framework(f, "xla");
    for (uint32_t i = 0; i < s->n; i++)
        if (classify_xla(s->text[i]))
            return true;
    return runs_kernel(f, "tensorflow::functor|EigenMetaKernel");
}

/* True for the end "solve_F1L204_2" of a name with nvkernel_: file, line, loop. */
static bool ends_as_openmp(const char *name)
{
    const char *f = strstr(name, "_F");
    while (f && !(isdigit((unsigned char)f[2]) && strchr(f, 'L')))
        f = strstr(f + 1, "_F");
    return f != NULL;
}

/* True for GCC's names of OpenMP and OpenACC kernels: "main$_omp_fn$0", "main._omp_fn.0". */
static bool is_gcc(const char *name)
{
    const char *at = strstr(name, "_omp_fn");
    return at && (at[7] == '$' || at[7] == '.');
}

/* True for the OpenACC names "kmeans_235_gpu", "main_53_gpu__red": function and line. */
static bool ends_as_openacc(const char *name)
{
    const char *gpu = strstr(name, "_gpu");
    size_t digits = 0;
    if (!gpu || strpbrk(name, " :(<") || (gpu[4] && strncmp(gpu + 4, "__", 2) != 0))
        return false;
    while (gpu - digits > name && isdigit((unsigned char)gpu[-1 - (long)digits]))
        digits++;
    return digits >= 2 && gpu - digits > name && gpu[-1 - (long)digits] == '_';
}

static bool is_directive(const char *name)
{
    return is_gcc(name) || strncmp(name, "__pgi_uacc_", 11) == 0 ||
           strncmp(name, "__omp_offloading_", 17) == 0 ||
           (strncmp(name, "nvkernel_", 9) == 0 && ends_as_openmp(name)) || ends_as_openacc(name);
}

bool query_of_directives(const struct facts *f)
{
    int64_t all = 0, such = 0;
    for (size_t i = 0; i < f->totals.kernel_count; i++) {
        const struct kernel_total *k = &f->totals.kernels[i];
        all += k->count;
        such += is_directive(tl_text(f->tl, f->tl->ops[k->longest].full_name)) ? k->count : 0;
    }
    return such * 2 > all;
}
