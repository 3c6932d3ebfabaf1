/* Arrays and boxes of the virtual GPU: data goes where the call says, textures and surfaces return
 * what they were made from, and a copy has the direction of its pointers. */
#include "tests/unit/vgpu_program.h"

#include <stdbool.h>
#include <string.h>

Suite *test_vgpu_array_suite(void);

static struct cudaExtent extent_of(size_t width, size_t height, size_t depth)
{
    return (struct cudaExtent){width, height, depth};
}

START_TEST(rows_go_through_an_array)
{
    choose("t4");
    struct cudaChannelFormatDesc format =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
    cudaArray_t array;
    int in[8][6], out[8][4];
    for (int i = 0; i < 48; i++)
        in[i / 6][i % 6] = i;
    OK(cudaMallocArray(&array, &format, 6, 8, cudaArrayDefault));
    OK(cudaMemcpy2DToArray(array, 0, 0, in, sizeof in[0], sizeof in[0], 8, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(out, sizeof out[0], array, sizeof(int), 0, sizeof out[0], 8,
                             cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        ck_assert_int_eq(out[i / 4][i % 4], in[i / 4][i % 4 + 1]);
    struct cudaChannelFormatDesc found;
    struct cudaExtent extent;
    unsigned flags;
    OK(cudaArrayGetInfo(&found, &extent, &flags, array));
    ck_assert_int_eq(found.x, 32);
    ck_assert_uint_eq(extent.width, 6);
    ck_assert_uint_eq(extent.height, 8);
    OK(cudaFreeArray(array));
    ck_assert_int_eq(cudaMallocArray(&array, &format, 0, 0, 0), cudaErrorInvalidValue);
}
END_TEST

START_TEST(a_box_is_copied_alone)
{
    choose("t4");
    char in[4][4][8], out[4][4][8];
    struct cudaPitchedPtr device;
    OK(cudaMalloc3D(&device, extent_of(8, 4, 4)));
    ck_assert_uint_eq(device.pitch % 512, 0);
    OK(cudaMemset3D(device, 1, extent_of(8, 4, 4)));
    memset(in, 7, sizeof in);
    struct cudaMemcpy3DParms to = {.srcPtr = {in, 8, 8, 4},
                                   .dstPtr = device,
                                   .dstPos = {2, 1, 1},
                                   .extent = {3, 2, 2},
                                   .kind = cudaMemcpyHostToDevice};
    OK(cudaMemcpy3D(&to));
    struct cudaMemcpy3DParms from = {.srcPtr = device,
                                     .dstPtr = {out, 8, 8, 4},
                                     .extent = {8, 4, 4},
                                     .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3D(&from));
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 8; x++) {
                bool inside = z >= 1 && z < 3 && y >= 1 && y < 3 && x >= 2 && x < 5;
                ck_assert_int_eq(out[z][y][x], inside ? 7 : 1);
            }
    OK(cudaMemset3D(device, 3, extent_of(8, 2, 3))); /* the first two rows of three slices */
    OK(cudaMemcpy3D(&from));
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 4; y++)
            ck_assert_int_eq(out[z][y][0], z < 3 && y < 2 ? 3 : 1);
}
END_TEST

START_TEST(rows_are_set_alone)
{
    choose("t4");
    char *device, out[4][8];
    OK(cudaMalloc((void **)&device, sizeof out));
    OK(cudaMemset(device, 1, sizeof out));
    OK(cudaMemset2D(device, 8, 5, 3, 2));
    OK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        ck_assert_int_eq(out[i / 8][i % 8], i / 8 < 2 && i % 8 < 3 ? 5 : 1);
}
END_TEST

START_TEST(objects_keep_what_they_are_made_from)
{
    choose("t4");
    struct cudaChannelFormatDesc format =
        cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
    cudaMipmappedArray_t levels;
    cudaArray_t level;
    struct cudaExtent extent;
    OK(cudaMallocMipmappedArray(&levels, &format, extent_of(16, 8, 0), 5, 0));
    OK(cudaGetMipmappedArrayLevel(&level, levels, 2));
    OK(cudaArrayGetInfo(NULL, &extent, NULL, level));
    ck_assert_uint_eq(extent.width, 4);
    ck_assert_uint_eq(extent.height, 2);
    struct cudaResourceDesc made = {.resType = cudaResourceTypeArray, .res.array.array = level},
                            got;
    struct cudaTextureDesc how = {.normalizedCoords = 1}, found;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    OK(cudaCreateTextureObject(&texture, &made, &how, NULL));
    OK(cudaGetTextureObjectResourceDesc(&got, texture));
    OK(cudaGetTextureObjectTextureDesc(&found, texture));
    ck_assert_ptr_eq(got.res.array.array, level);
    ck_assert_int_eq(found.normalizedCoords, 1);
    OK(cudaCreateSurfaceObject(&surface, &made));
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeMipmappedArray(levels));
}
END_TEST

START_TEST(pointers_decide_the_direction)
{
    choose("t4");
    int in = 5, out = 0, *device, *other, *pinned;
    OK(cudaMalloc((void **)&device, sizeof in));
    OK(cudaMalloc((void **)&other, sizeof in));
    OK(cudaMallocHost((void **)&pinned, sizeof in));
    OK(cudaMemcpy(device, &in, sizeof in, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(other, device, sizeof in, cudaMemcpyHostToDevice)); /* both are the device's */
    OK(cudaMemcpy(pinned, other, sizeof in,
                  cudaMemcpyDeviceToDevice)); /* pinned: the device finds it */
    ck_assert_int_eq(*pinned, 5);
    OK(cudaMemcpy(&out, pinned, sizeof in, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(out, 5);
    ck_assert_int_eq(cudaMemcpy(&in, &out, sizeof in, cudaMemcpyHostToDevice),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpy(device, &in, sizeof in, cudaMemcpyDeviceToDevice),
                     cudaErrorInvalidValue);
}
END_TEST

Suite *test_vgpu_array_suite(void)
{
    Suite *s = suite_create("vgpu_array");
    TCase *c = tcase_create("vgpu_array");
    tcase_add_test(c, rows_go_through_an_array);
    tcase_add_test(c, a_box_is_copied_alone);
    tcase_add_test(c, rows_are_set_alone);
    tcase_add_test(c, objects_keep_what_they_are_made_from);
    tcase_add_test(c, pointers_decide_the_direction);
    suite_add_tcase(s, c);
    return s;
}
