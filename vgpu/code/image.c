/* Finds kernels in device code. A cubin is an ELF file with a section `.text.NAME` for each kernel.
 * The count of registers is the upper byte of that section's sh_info (as cuobjdump and nvdisasm
 * show it) or, since CUDA 13, a row of `.nv.info`. `.nv.shared.NAME` has the size of the static
 * shared memory. The image's length is unknown: its own headers are trusted, as the real driver
 * trusts them. */
#include "code/image.h"
#include "ptx/fatbin.h"
#include "ptx/sass.h"

#include <ctype.h>
#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { EM_CUDA_GPU = 190, INFO_REGISTERS = 0x2f, INFO_SIZED = 4 };

static bool is_cubin(const void *image)
{
    const Elf64_Ehdr *e = image;
    return memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 && e->e_ident[EI_CLASS] == ELFCLASS64 &&
           e->e_machine == EM_CUDA_GPU;
}

/* The start of PTX text: after comments and blanks comes `.version`. NULL: it is no PTX. */
static const char *ptx_text(const void *image)
{
    const char *s = image;
    for (;;) {
        while (isspace((unsigned char)*s))
            s++;
        if (strncmp(s, "//", 2) != 0)
            break;
        s += strcspn(s, "\n");
    }
    return strncmp(s, ".version", 8) == 0 ? s : NULL;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t cubin_size(const char *image)
{
    const Elf64_Ehdr *e = (const Elf64_Ehdr *)(const void *)image;
    const Elf64_Shdr *all = (const Elf64_Shdr *)(const void *)(image + e->e_shoff);
    size_t n = larger(sizeof *e, e->e_shoff + e->e_shnum * sizeof *all);
    for (int i = 0; i < e->e_shnum; i++)
        if (all[i].sh_type != SHT_NOBITS)
            n = larger(n, all[i].sh_offset + all[i].sh_size);
    return n;
}

bool vg_image_is_fat(const void *image)
{
    return fat_is(image);
}

void *vg_image_copy(const void *image)
{
    size_t n = 0;
    if (fat_is(image)) {
        image = fat_container(image);
        n = image ? fat_size(image) : 0;
    } else {
        n = is_cubin(image) ? cubin_size(image) : ptx_text(image) ? strlen(image) + 1 : 0;
    }
    void *copy = n ? malloc(larger(n, sizeof(Elf64_Ehdr))) : NULL;
    if (copy)
        memcpy(copy, image, n);
    return copy;
}

static const Elf64_Shdr *section(const char *image, const char *prefix, const char *name)
{
    const Elf64_Ehdr *e = (const Elf64_Ehdr *)(const void *)image;
    const Elf64_Shdr *all = (const Elf64_Shdr *)(const void *)(image + e->e_shoff);
    const char *names = image + all[e->e_shstrndx].sh_offset;
    size_t n = strlen(prefix);
    for (int i = 0; i < e->e_shnum; i++) {
        const char *s = names + all[i].sh_name;
        if (strncmp(s, prefix, n) == 0 && strcmp(s + n, name) == 0)
            return &all[i];
    }
    return NULL;
}

/* The registers that `.nv.info` gives for a symbol; 0: none. */
static unsigned info_registers(const char *image, unsigned symbol)
{
    const Elf64_Shdr *info = section(image, ".nv.info", "");
    const char *at = info ? image + info->sh_offset : NULL, *end = at ? at + info->sh_size : NULL;
    while (at && end - at >= 4) {
        uint16_t size;
        uint32_t row[2];
        memcpy(&size, at + 2, sizeof size);
        bool sized = at[0] == INFO_SIZED;
        if (sized && at[1] == INFO_REGISTERS && end - at >= 4 + (int)sizeof row) {
            memcpy(row, at + 4, sizeof row);
            if (row[0] == symbol)
                return row[1];
        }
        at += 4 + (sized ? size : 0);
    }
    return 0;
}

static bool cubin_kernel(const char *image, const char *name, struct vg_function *f)
{
    const Elf64_Shdr *text = section(image, ".text.", name);
    if (!text)
        return false;
    const Elf64_Shdr *shared = section(image, ".nv.shared.", name);
    unsigned registers = text->sh_info >> 24;
    if (!registers)
        registers = info_registers(image, text->sh_info);
    if (registers)
        f->registers = registers;
    f->smem_static = shared ? (unsigned)shared->sh_size : 0;
    return true;
}

double vg_image_moves(const void *image, const char *name)
{
    const Elf64_Shdr *text = is_cubin(image) ? section(image, ".text.", name) : NULL;
    return text ? sass_bytes((const char *)image + text->sh_offset, text->sh_size) : -1;
}

static bool ptx_kernel(const char *s, const char *name)
{
    size_t n = strlen(name);
    while (s && (s = strstr(s, ".entry"))) {
        s += strlen(".entry");
        while (isspace((unsigned char)*s))
            s++;
        if (strncmp(s, name, n) == 0 && !isalnum((unsigned char)s[n]) && s[n] != '_' && s[n] != '$')
            return true;
    }
    return false;
}

/* The PTX that `ptxas -lineinfo` leaves in a cubin, as Triton calls it; each line ends with a zero.
 * To be freed. NULL: there is none, or not of this kernel. */
static char *ptx_in_cubin(const char *image, const char *name)
{
    const Elf64_Shdr *lines = section(image, ".nv_debug_ptx_txt", "");
    char *text = lines ? malloc(lines->sh_size + 1) : NULL;
    if (!text)
        return NULL;
    for (size_t i = 0; i < lines->sh_size; i++)
        text[i] = image[lines->sh_offset + i] ? image[lines->sh_offset + i] : '\n';
    text[lines->sh_size] = '\0';
    if (ptx_text(text) && ptx_kernel(text, name))
        return text;
    free(text);
    return NULL;
}

/* How well an entry suits the device. One for a newer device does not run there; of the others the
 * newest is best. */
static int suits(const struct fat_entry *e, int arch)
{
    return (int)e->arch <= arch ? (int)e->arch : -(int)e->arch;
}

/* How readily a driver takes an entry for the device: cubins run within one major version, and of
 * what is left it compiles the newest PTX. 0: it cannot. */
static int preference(const struct fat_entry *e, int arch)
{
    enum { OVER_PTX = 1 << 16 };
    if ((int)e->arch > arch || (e->kind == FAT_CUBIN && (int)e->arch / 10 != arch / 10))
        return 0;
    return (int)e->arch + (e->kind == FAT_CUBIN ? OVER_PTX : 0);
}

/* CUB chooses its kernels by the architecture that the code was compiled for, not by the device's. */
static void note_arch(struct vg_function *f, const struct fat_entry *e, int arch, int *best)
{
    if (preference(e, arch) <= *best)
        return;
    *best = preference(e, arch);
    f->ptx_arch = e->arch;
    f->binary_arch = e->kind == FAT_CUBIN ? e->arch : (unsigned)arch;
}

static bool fat_kernel(const void *image, const char *name, int arch, struct vg_function *f)
{
    struct fat_walk w = fat_walk(image);
    struct fat_entry e;
    bool found = false, opaque = false;
    int best = INT_MIN, taken = 0;
    while (fat_next(&w, &e)) {
        char *data = fat_unpack(&e);
        bool cubin = data && e.kind == FAT_CUBIN && is_cubin(data), here = false;
        opaque |= !data;
        if (cubin && suits(&e, arch) > best && cubin_kernel(data, name, f)) {
            best = suits(&e, arch);
            here = true;
        }
        here |= data && e.kind == FAT_PTX && ptx_kernel(data, name);
        if (here)
            note_arch(f, &e, arch, &taken);
        found |= here;
        free(data);
    }
    return found || opaque;
}

bool vg_image_kernel(const void *image, const char *name, int arch, struct vg_function *f)
{
    if (is_cubin(image))
        return cubin_kernel(image, name, f);
    return fat_is(image) ? fat_kernel(image, name, arch, f) : ptx_kernel(ptx_text(image), name);
}

/* True for code that runs on one architecture only, such as sm_90a; a program may have code for
 * sm_90 as well. */
static bool is_specific(const char *ptx)
{
    static const char target[] = ".target sm_";
    const char *s = strstr(ptx, target);
    s = s ? s + strlen(target) : ptx;
    return isalpha((unsigned char)s[strspn(s, "0123456789")]);
}

/* Replaces *found by the PTX of the best entry with this kernel, if that is better. */
static void better_ptx(const void *image, const char *name, int arch, char **found, int *best)
{
    struct fat_entry e;
    for (struct fat_walk w = fat_walk(image); fat_next(&w, &e);) {
        int rank = 2 * suits(&e, arch);
        char *text = e.kind == FAT_PTX && rank + 1 > *best ? fat_unpack(&e) : NULL;
        rank += text && (int)e.arch == arch && is_specific(text);
        if (text && rank > *best && ptx_kernel(text, name)) {
            free(*found);
            *found = text;
            *best = rank;
        } else {
            free(text);
        }
    }
}

char *vg_image_ptx(const void *image, const char *name, int arch)
{
    char *found = NULL;
    int best = INT_MIN;
    if (is_cubin(image))
        return ptx_in_cubin(image, name);
    if (!fat_is(image))
        return ptx_kernel(ptx_text(image), name) ? strdup(image) : NULL;
    better_ptx(image, name, arch, &found, &best);
    const void *part = image;
    for (size_t i = 0; !found && (part = fat_linked(image, i)) != NULL; i++)
        better_ptx(part, name, arch, &found, &best);
    return found;
}
