/* Cubins are ELF files with a section `.text.NAME` for each kernel; the upper byte of its sh_info
 * is the count of registers (as cuobjdump and nvdisasm show it), `.nv.shared.NAME` is as large as
 * the static shared memory. The image's length is not known: its own headers are trusted, as the
 * real driver trusts them. */
#include "reference_workloads/vgpu/core/core_image.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { FAT_WRAPPER = 0x466243b1, EM_CUDA_GPU = 190 };
static const uint32_t fat_binary = 0xba55ed50;

static uint32_t first_word(const void *image)
{
    uint32_t word;
    memcpy(&word, image, sizeof word);
    return word;
}

static bool is_cubin(const void *image)
{
    const Elf64_Ehdr *e = image;
    return memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 && e->e_ident[EI_CLASS] == ELFCLASS64 &&
           e->e_machine == EM_CUDA_GPU;
}

static bool is_fat(const void *image)
{
    return first_word(image) == FAT_WRAPPER || first_word(image) == fat_binary;
}

/* PTX starts with comments and blanks, then `.version`. */
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

void *vg_image_copy(const void *image)
{
    size_t n = is_cubin(image)   ? cubin_size(image)
               : is_fat(image)   ? sizeof fat_binary
               : ptx_text(image) ? strlen(image) + 1
                                 : 0;
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

static bool cubin_kernel(const char *image, const char *name, struct vg_function *f)
{
    const Elf64_Shdr *text = section(image, ".text.", name);
    if (!text)
        return false;
    const Elf64_Shdr *shared = section(image, ".nv.shared.", name);
    unsigned registers = text->sh_info >> 24;
    if (registers)
        f->registers = registers;
    f->smem_static = shared ? (unsigned)shared->sh_size : 0;
    return true;
}

static bool ptx_kernel(const char *s, const char *name)
{
    size_t n = strlen(name);
    while ((s = strstr(s, ".entry"))) {
        s += strlen(".entry");
        while (isspace((unsigned char)*s))
            s++;
        if (strncmp(s, name, n) == 0 && !isalnum((unsigned char)s[n]) && s[n] != '_' && s[n] != '$')
            return true;
    }
    return false;
}

bool vg_image_kernel(const void *image, const char *name, struct vg_function *f)
{
    if (is_cubin(image))
        return cubin_kernel(image, name, f);
    return is_fat(image) || ptx_kernel(ptx_text(image), name);
}
