/* What a program can observe of the virtual cuSPARSE and cuSOLVER: which calls launch kernels, how
 * their duration depends on the size of the matrices, and which results reach the host. */
#include "shims/cusolver/shim_cusolver.h"
#include "shims/cusparse/shim_cusparse.h"
#include "tests/unit/vgpu_library_calls.h"

Suite *test_vgpu_sparse_suite(void);

enum { INT32 = 2, FLOAT = 0, COLUMN_MAJOR = 1 };

#define SPARSE(call) ck_assert_int_eq(call, SPARSE_SUCCESS)
#define SOLVER(call) ck_assert_int_eq(call, SOLVER_SUCCESS)

int cusparseCreate(struct sparse_handle **out);
int cusparseDestroy(struct sparse_handle *h);
int cusparseCreateCsr(struct sparse_object **out, int64_t rows, int64_t cols, int64_t nnz,
                      void *offsets, void *indices, void *values, int offset_type, int index_type,
                      int base, int type);
int cusparseCreateDnMat(struct sparse_object **out, int64_t rows, int64_t cols, int64_t leading,
                        void *values, int type, int order);
int cusparseSpMM(const struct sparse_handle *h, int op_a, int op_b, const void *alpha,
                 const struct sparse_object *a, const struct sparse_object *b, const void *beta,
                 struct sparse_object *c, int type, int algorithm, void *buffer);
int cusolverDnCreate(struct solver_handle **out);
int cusolverDnDpotrf_bufferSize(const struct solver_handle *h, int uplo, int n, double *a, int lda,
                                int *out);
int cusolverDnDpotrf(const struct solver_handle *h, int uplo, int n, double *a, int lda,
                     double *work, int room, int *info);
int cusolverDnSgetrf(const struct solver_handle *h, int m, int n, float *a, int lda, float *work,
                     int *pivots, int *info);
int cusolverDnXsyevBatched(const struct solver_handle *h, void *p, int vectors, int uplo, int64_t n,
                           int type, void *a, int64_t lda, int w_type, void *w, int compute,
                           void *device, size_t device_bytes, void *host, size_t host_bytes,
                           int *info, int64_t batch);
int cusolverDnXgeev(const struct solver_handle *h, void *p, int left, int right, int64_t n,
                    int type, void *a, int64_t lda, int w_type, void *w, int vl_type, void *vl,
                    int64_t ldvl, int vr_type, void *vr, int64_t ldvr, int compute, void *device,
                    size_t device_bytes, void *host, size_t host_bytes, int *info);
int cusparseXcsrgeam2Nnz(const struct sparse_handle *h, int m, int n, const void *a, int nnz_a,
                         const int *a_offsets, const int *a_indices, const void *b, int nnz_b,
                         const int *b_offsets, const int *b_indices, const void *c, int *offsets,
                         int *nnz, void *buffer);

static char *memory(size_t bytes)
{
    char *at;
    ck_assert_int_eq(cudaMalloc((void **)&at, bytes), cudaSuccess);
    seen_count = 0;
    return at;
}

static struct sparse_object *matrix(int64_t n, int64_t nnz, char *at, int type)
{
    struct sparse_object *a;
    SPARSE(cusparseCreateCsr(&a, n, n, nnz, at, at, at, INT32, INT32, 0, type));
    return a;
}

START_TEST(a_product_reads_the_matrix)
{
    struct sparse_handle *h;
    struct sparse_object *b, *c;
    float one = 1;
    on_device("h100");
    char *at = memory(1 << 20);
    SPARSE(cusparseCreate(&h));
    SPARSE(cusparseCreateDnMat(&b, 1 << 22, 1, 1 << 22, at, FLOAT, COLUMN_MAJOR));
    SPARSE(cusparseCreateDnMat(&c, 1 << 22, 1, 1 << 22, at, FLOAT, COLUMN_MAJOR));
    struct sparse_object *a = matrix(1 << 22, 1 << 27, at, FLOAT);
    SPARSE(cusparseSpMM(h, 0, 0, &one, a, b, &one, c, FLOAT, 0, at));
    ck_assert_int_eq(seen_count, 1);
    /* 1.07 GB of values and indices, at 3.35 TB/s at most and a quarter of it at least */
    ck_assert_int_gt(seen_ns[0], 320000);
    ck_assert_int_lt(seen_ns[0], 1280000);
    a = matrix(1 << 22, 1 << 26, at, FLOAT);
    SPARSE(cusparseSpMM(h, 0, 0, &one, a, b, &one, c, FLOAT, 0, at));
    ck_assert_int_lt(seen_ns[1], seen_ns[0] * 6 / 10);
    ck_assert_int_eq(cusparseSpMM(NULL, 0, 0, &one, a, b, &one, c, FLOAT, 0, at),
                     SPARSE_NOT_INITIALIZED);
    ck_assert_int_eq(cusparseSpMM(h, 0, 0, &one, NULL, b, &one, c, FLOAT, 0, at),
                     SPARSE_INVALID_VALUE);
    SPARSE(cusparseDestroy(h));
}
END_TEST

START_TEST(products_with_more_columns_take_longer)
{
    struct sparse_handle *h;
    struct sparse_object *b, *c;
    float one = 1;
    on_device("h100");
    char *at = memory(1 << 20);
    SPARSE(cusparseCreate(&h));
    struct sparse_object *a = matrix(1 << 16, 1 << 22, at, FLOAT);
    for (int columns = 64; columns <= 256; columns *= 4) {
        SPARSE(cusparseCreateDnMat(&b, 1 << 16, columns, 1 << 16, at, FLOAT, COLUMN_MAJOR));
        SPARSE(cusparseCreateDnMat(&c, 1 << 16, columns, 1 << 16, at, FLOAT, COLUMN_MAJOR));
        SPARSE(cusparseSpMM(h, 0, 0, &one, a, b, &one, c, FLOAT, 0, at));
    }
    ck_assert_int_gt(seen_ns[1], 2 * seen_ns[0]);
}
END_TEST

START_TEST(a_factorisation_goes_panel_by_panel)
{
    struct solver_handle *h;
    int room = 0;
    on_device("h100");
    double *a = (double *)memory(1 << 20);
    int *info = (int *)memory(4), *pivots = (int *)memory(4 * 8192);
    *info = 7;
    SOLVER(cusolverDnCreate(&h));
    SOLVER(cusolverDnDpotrf_bufferSize(h, 0, 4096, a, 4096, &room));
    ck_assert_int_gt(room, 0);
    seen_count = 0;
    SOLVER(cusolverDnDpotrf(h, 0, 4096, a, 4096, a, room, info));
    ck_assert_int_eq(*info, 0);
    ck_assert_int_eq(launched("potrf_panel"), 64);
    ck_assert_int_eq(launched("syrk"), 63);
    int64_t small = device_ns();
    seen_count = 0;
    SOLVER(cusolverDnDpotrf(h, 0, 8192, a, 8192, a, room, info));
    ck_assert_int_gt(device_ns(), 2 * small);
    ck_assert_int_eq(cusolverDnDpotrf(h, 0, 8, a, 4, a, room, info), SOLVER_INVALID_VALUE);
    SOLVER(cusolverDnSgetrf(h, 100, 100, (float *)a, 100, (float *)a, pivots, info));
    ck_assert_int_eq(pivots[99], 100);
}
END_TEST

START_TEST(eigenvalues_of_many_are_one_kernel)
{
    struct solver_handle *h;
    int info[4] = {9, 9, 9, 9};
    on_device("h100");
    char *at = memory(1 << 20);
    SOLVER(cusolverDnCreate(&h));
    SOLVER(cusolverDnXsyevBatched(h, NULL, 1, 0, 64, FLOAT, at, 64, FLOAT, at, FLOAT, at, 0, NULL,
                                  0, info, 3));
    ck_assert_int_eq(launched("syev_batched"), 1);
    ck_assert(info[0] == 0 && info[2] == 0 && info[3] == 9);
    seen_count = 0;
    SOLVER(cusolverDnXgeev(h, NULL, 0, 1, 256, FLOAT, at, 256, FLOAT, at, FLOAT, at, 1, FLOAT, at,
                           256, FLOAT, at, 0, NULL, 0, info));
    ck_assert_int_ge(seen_count, 2);
    ck_assert_int_eq(cusolverDnXgeev(h, NULL, 0, 1, 256, FLOAT, NULL, 256, FLOAT, at, FLOAT, at, 1,
                                     FLOAT, at, 256, FLOAT, at, 0, NULL, 0, info),
                     SOLVER_INVALID_VALUE);
}
END_TEST

/* As many values as both have, for the host where pointers are its own: it waits. */
START_TEST(a_sum_has_the_values_of_both)
{
    struct sparse_handle *h;
    int nnz = 0, rows[3] = {0, 1, 2};
    on_device("h100");
    SPARSE(cusparseCreate(&h));
    seen_count = sync_count = 0;
    SPARSE(cusparseXcsrgeam2Nnz(h, 2, 2, NULL, 3, rows, rows, NULL, 4, rows, rows, NULL, rows, &nnz,
                                NULL));
    ck_assert_int_eq(nnz, 7);
    ck_assert_int_eq(seen_count, 1);
    ck_assert_int_eq(sync_count, 1);
}
END_TEST

Suite *test_vgpu_sparse_suite(void)
{
    Suite *s = suite_create("vgpu_sparse");
    TCase *t = tcase_create("sparse");
    tcase_add_test(t, a_product_reads_the_matrix);
    tcase_add_test(t, products_with_more_columns_take_longer);
    tcase_add_test(t, a_factorisation_goes_panel_by_panel);
    tcase_add_test(t, eigenvalues_of_many_are_one_kernel);
    tcase_add_test(t, a_sum_has_the_values_of_both);
    suite_add_tcase(s, t);
    return s;
}
