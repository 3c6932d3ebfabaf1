/* Tests the classifier with every kernel name in installed libraries: no kernel whose name says
 * FP32 multiply-add may be classified as one on tensor cores, and none that says tensor cores as
 * one without.
 *
 * usage: library_names LIBRARY...     skips libraries that do not exist; exit 77 if none does
 * Cost: reads each library once, about a second per gigabyte. */
#include "analyzer/timeline/classify.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHORTEST = 16, LONGEST = 600 };

struct counts {
    long names, fma, tensor, matrix, unknown, wrong;
};

/* What a name says in so many words. A name that says both is a plain one's: a fallback in a
 * family of tensor kernels. */
static bool says_fma(const char *name)
{
    return strstr(name, "ffma") || strstr(name, "MmaSimt") || strstr(name, "_simt_") ||
           strstr(name, "scudnn");
}

static bool says_tensor(const char *name)
{
    return strstr(name, "tensor16x8x") || strstr(name, "tensorop") || strstr(name, "MmaTensorOp") ||
           strstr(name, "nvjet_");
}

static void judge(const char *name, struct counts *n)
{
    bool fma = says_fma(name), tensor = says_tensor(name);
    if (!fma && !tensor)
        return;
    struct kernel_class c = classify_kernel(name);
    bool matrix =
        c.family == FAMILY_GEMM || c.family == FAMILY_CONV || c.family == FAMILY_ATTENTION;
    n->names++;
    n->fma += fma;
    n->tensor += tensor && !fma;
    n->matrix += matrix;
    n->unknown += matrix && c.tensor == TRI_UNKNOWN;
    bool wrong = (fma && c.tensor == TRI_YES) || (tensor && !fma && matrix && c.tensor == TRI_NO);
    if (wrong && n->wrong++ < 5)
        printf("FAIL: %s: tensor cores %s\n", name, c.tensor == TRI_YES ? "yes" : "no");
}

/* Identifiers among the library's bytes. */
static void scan(const unsigned char *p, size_t size, struct counts *n)
{
    char name[LONGEST + 1];
    size_t start = 0;
    for (size_t i = 0; i <= size; i++) {
        if (i < size && (isalnum(p[i]) || p[i] == '_'))
            continue;
        size_t length = i - start;
        if (length >= SHORTEST && length <= LONGEST) {
            memcpy(name, p + start, length);
            name[length] = '\0';
            judge(name, n);
        }
        start = i + 1;
    }
}

static bool look_into(const char *path, struct counts *n)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool there = fstat(fd, &s) == 0 && s.st_size > 0;
    void *p = there ? mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (p == MAP_FAILED)
        return false;
    scan(p, (size_t)s.st_size, n);
    munmap(p, (size_t)s.st_size);
    return true;
}

int main(int argc, char **argv)
{
    struct counts n = {0};
    int looked = 0;
    for (int i = 1; i < argc; i++)
        looked += look_into(argv[i], &n);
    if (!looked || n.names == 0) {
        printf("skipped: no library with kernel names is installed\n");
        return 77;
    }
    printf("%d libraries, %ld names that tell: %ld FP32, %ld tensor cores; %ld of %ld matrix "
           "kernels unknown, %ld wrong\n",
           looked, n.names, n.fma, n.tensor, n.unknown, n.matrix, n.wrong);
    if (n.unknown * 100 > n.matrix) {
        printf("FAIL: over 1 %% of the matrix kernels are unknown\n");
        return 1;
    }
    return n.wrong ? 1 : 0;
}
