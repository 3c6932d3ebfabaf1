/* Containers of device code: how they are unpacked and walked, and which of the code a device
 * uses. */
#include "code/image.h"
#include "ptx/fatbin.h"

#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

Suite *test_vgpu_fatbin_suite(void);

START_TEST(lz4_is_unpacked)
{
    /* abcd, 8 more of them from 4 back, then xyz */
    static const unsigned char packed[] = {0x44, 'a', 'b', 'c', 'd', 4, 0, 0x30, 'x', 'y', 'z'};
    unsigned char out[16] = "";
    ck_assert_uint_eq(fat_lz4(packed, sizeof packed, out, sizeof out), 15);
    ck_assert_mem_eq(out, "abcdabcdabcdxyz", 15);
    ck_assert_uint_eq(fat_lz4(packed, sizeof packed, out, 14), 0);
    static const unsigned char before[] = {0x14, 'a', 9, 0, 0};
    ck_assert_uint_eq(fat_lz4(before, sizeof before, out, sizeof out), 0);
}
END_TEST

START_TEST(container_is_walked)
{
    struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t size;
        struct {
            uint16_t kind, version;
            uint32_t header;
            uint64_t size;
            uint32_t packed, name, code, arch, unknown[2];
            uint64_t flags, reserved, unpacked;
            char text[16];
        } entry;
    } fat = {
        0xba55ed50, 1, 16, 80, {FAT_PTX, 1, 64, 16, 0, 0, 0, 90, {0}, 0, 0, 0, ".version 8.0"}};
    struct fat_entry e;
    struct fat_walk w = fat_walk(&fat);
    ck_assert(fat_next(&w, &e));
    ck_assert_uint_eq(e.arch, 90);
    char *text = fat_unpack(&e);
    ck_assert_str_eq(text, ".version 8.0");
    free(text);
    ck_assert(!fat_next(&w, &e));
    fat.entry.size = 1000; /* beyond the end */
    w = fat_walk(&fat);
    ck_assert(!fat_next(&w, &e));
}
END_TEST

/* A program for sm_90 and sm_90a has the kernel twice: what it runs there is the second. */
START_TEST(code_for_this_architecture_alone_goes_first)
{
    struct entry {
        uint16_t kind, version;
        uint32_t header;
        uint64_t size;
        uint32_t packed, name, code, arch, unknown[2];
        uint64_t flags, reserved, unpacked;
        char text[96];
    };
    struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t size;
        struct entry entry[2];
    } fat = {0xba55ed50,
             1,
             16,
             2 * sizeof(struct entry),
             {{FAT_PTX, 1, 64, 96, 0, 0, 0, 90, {0}, 0, 0, 0, ""},
              {FAT_PTX, 1, 64, 96, 0, 0, 0, 90, {0}, 0, 0, 0, ""}}};
    static const char *const code[] = {".version 8.0\n.target sm_90\n.entry k() { ret; }",
                                       ".version 8.0\n.target sm_90a\n.entry k() { exit; }"};
    for (int turned = 0; turned < 2; turned++) {
        strcpy(fat.entry[0].text, code[turned]);
        strcpy(fat.entry[1].text, code[!turned]);
        char *here = vg_image_ptx(&fat, "k", 90), *later = vg_image_ptx(&fat, "k", 100);
        ck_assert_ptr_nonnull(here);
        ck_assert_ptr_nonnull(strstr(here, "sm_90a"));
        ck_assert_ptr_nonnull(later);
        free(here);
        free(later);
    }
}
END_TEST

/* nvcc -gencode arch=compute_75,code=compute_75 -gencode arch=compute_80,code=compute_80: CUB has
 * kernels for both, and refuses a device's own number that it was not compiled for. */
START_TEST(a_kernel_knows_what_it_was_compiled_for)
{
    struct entry {
        uint16_t kind, version;
        uint32_t header;
        uint64_t size;
        uint32_t packed, name, code, arch, unknown[2];
        uint64_t flags, reserved, unpacked;
        char text[48];
    };
    static const struct {
        int device;
        unsigned ptx, binary;
    } want[] = {{75, 75, 75}, {80, 80, 80}, {90, 80, 90}, {70, 0, 0}};
    struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t size;
        struct entry entry[2];
    } fat = {
        0xba55ed50,
        1,
        16,
        2 * sizeof(struct entry),
        {{FAT_PTX, 1, 64, 48, 0, 0, 0, 75, {0}, 0, 0, 0, ".version 8.0\n.entry k() { ret; }"},
         {FAT_PTX, 1, 64, 48, 0, 0, 0, 80, {0}, 0, 0, 0, ".version 8.0\n.entry k() { ret; }"}}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct vg_function f = {.name = "k"};
        ck_assert(vg_image_kernel(&fat, "k", want[i].device, &f));
        ck_assert_uint_eq(f.ptx_arch, want[i].ptx);
        ck_assert_uint_eq(f.binary_arch, want[i].binary);
    }
}
END_TEST

/* As ptxas -lineinfo leaves it: each line ends with a zero. */
START_TEST(ptx_is_found_in_a_cubin)
{
    enum { LINES_AT = 16 }; /* in the names */
    static const char lines[] = "\0.version 8.8\0.target sm_80\0.entry k(\0.param .u64 p\0)\0{\0}";
    struct {
        Elf64_Ehdr head;
        char names[48];
        char lines[sizeof lines];
        Elf64_Shdr section[2];
    } image = {.names = "\0.text.k\0......\0.nv_debug_ptx_txt"};
    memcpy(image.lines, lines, sizeof lines);
    image.head = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                              .e_machine = 190,
                              .e_shoff = (size_t)((char *)image.section - (char *)&image),
                              .e_shnum = 2};
    image.section[0] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = sizeof image.head};
    image.section[1] = (Elf64_Shdr){.sh_name = LINES_AT,
                                    .sh_type = SHT_PROGBITS,
                                    .sh_offset = sizeof image.head + sizeof image.names,
                                    .sh_size = sizeof lines};
    char *text = vg_image_ptx(&image, "k", 80);
    ck_assert_str_eq(text, "\n.version 8.8\n.target sm_80\n.entry k(\n.param .u64 p\n)\n{\n}\n");
    free(text);
    ck_assert_ptr_null(vg_image_ptx(&image, "kk", 80));
    image.section[1].sh_size = 12; /* no kernel any more */
    ck_assert_ptr_null(vg_image_ptx(&image, "k", 80));
}
END_TEST

Suite *test_vgpu_fatbin_suite(void)
{
    Suite *s = suite_create("vgpu_fatbin");
    TCase *c = tcase_create("core");
    tcase_add_test(c, lz4_is_unpacked);
    tcase_add_test(c, container_is_walked);
    tcase_add_test(c, code_for_this_architecture_alone_goes_first);
    tcase_add_test(c, a_kernel_knows_what_it_was_compiled_for);
    tcase_add_test(c, ptx_is_found_in_a_cubin);
    suite_add_tcase(s, c);
    return s;
}
