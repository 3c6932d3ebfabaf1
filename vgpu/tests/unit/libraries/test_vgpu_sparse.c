/* What a program may observe of the virtual cuSPARSE and cuSOLVER: which calls launch something,
 * how its length follows the size of the matrices, and what reaches the host. */
#include "shims/cusolver/shim_cusolver.h"
#include "shims/cusparse/shim_cusparse.h"
#include "tests/unit/vgpu_library_calls.h"

Suite *test_vgpu_sparse_suite(void);

enum { INT32 = 2, FLOAT = 0, DOUBLE = 1, COLUMN_MAJOR = 1 };

#define SPARSE(call) ck_assert_int_eq(call, SPARSE_SUCCESS)
#define SOLVER(call) ck_assert_int_eq(call, SOLVER_SUCCESS)

int cusparseCreate(struct sparse_handle **out);
int cusparseDestroy(struct sparse_handle *h);
int cusparseCreateCsr(struct sparse_object **out, int64_t rows, int64_t cols, int64_t nnz,
                      void *offsets, void *indices, void *values, int offset_type, int index_type,
                      int base, int type);
int cusparseCreateDnVec(struct sparse_object **out, int64_t size, void *values, int type);
int cusparseCreateDnMat(struct sparse_object **out, int64_t rows, int64_t cols, int64_t leading,
                        void *values, int type, int order);
int cusparseSpMV_bufferSize(const struct sparse_handle *h, int op, const void *alpha,
                            const struct sparse_object *a, const struct sparse_object *x,
                            const void *beta, struct sparse_object *y, int type, int algorithm,
                            size_t *bytes);
int cusparseSpMV(const struct sparse_handle *h, int op, const void *alpha,
                 const struct sparse_object *a, const struct sparse_object *x, const void *beta,
                 struct sparse_object *y, int type, int algorithm, void *buffer);
int cusparseSpMM(const struct sparse_handle *h, int op_a, int op_b, const void *alpha,
                 const struct sparse_object *a, const struct sparse_object *b, const void *beta,
                 struct sparse_object *c, int type, int algorithm, void *buffer);
int cusparseSpGEMM_createDescr(void **out);
int cusparseSpGEMM_workEstimation(const struct sparse_handle *h, int op_a, int op_b,
                                  const void *alpha, const struct sparse_object *a,
                                  const struct sparse_object *b, const void *beta,
                                  struct sparse_object *c, int type, int algorithm, void *steps,
                                  size_t *bytes, void *buffer);
int cusparseSpGEMM_compute(const struct sparse_handle *h, int op_a, int op_b, const void *alpha,
                           const struct sparse_object *a, const struct sparse_object *b,
                           const void *beta, struct sparse_object *c, int type, int algorithm,
                           void *steps, size_t *bytes, void *buffer);
int cusparseSpMatGetSize(const struct sparse_object *o, int64_t *rows, int64_t *cols, int64_t *nnz);
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
int cusolverSpCreate(struct solver_handle **out);
int cusolverSpXcsrsymrcmHost(const struct solver_handle *h, int n, int nnz, const void *a,
                             const int *rows, const int *cols, int *order);

struct steps_info;
#define STEPS(part, type, where)                                                                   \
    int cusolverSpCreateCsr##part##Info##where(struct steps_info **out);                           \
    int cusolverSpDestroyCsr##part##Info##where(struct steps_info *info);                          \
    int cusolverSpD##type##ZeroPivot##where(const struct solver_handle *h,                         \
                                            struct steps_info *info, double tolerance, int *at);
STEPS(chol, csrchol, )
STEPS(chol, csrchol, Host)
int cusolverSpXcsrcholAnalysis(const struct solver_handle *h, int n, int nnz, const void *a,
                               const int *rows, const int *cols, struct steps_info *info);
int cusolverSpDcsrcholBufferInfo(const struct solver_handle *h, int n, int nnz, const void *a,
                                 const double *values, const int *rows, const int *cols,
                                 struct steps_info *info, size_t *kept, size_t *work);
int cusolverSpDcsrcholFactor(const struct solver_handle *h, int n, int nnz, const void *a,
                             const double *values, const int *rows, const int *cols,
                             struct steps_info *info, void *buffer);
int cusolverSpDcsrcholFactorHost(const struct solver_handle *h, int n, int nnz, const void *a,
                                 const double *values, const int *rows, const int *cols,
                                 struct steps_info *info, void *buffer);
int cusolverSpDcsrcholSolve(const struct solver_handle *h, int n, const double *b, double *x,
                            struct steps_info *info, void *buffer);

int cusolverSpCreateCsrluInfoHost(struct steps_info **out);
int cusolverSpDestroyCsrluInfoHost(struct steps_info *info);
int cusolverSpXcsrluAnalysisHost(const struct solver_handle *h, int n, int nnz, const void *a,
                                 const int *rows, const int *cols, struct steps_info *info);
int cusolverSpXcsrluNnzHost(const struct solver_handle *h, int *lower, int *upper,
                            struct steps_info *info);
int cusolverSpDcsrluExtractHost(const struct solver_handle *h, int *p, int *q, const void *l,
                                double *l_values, int *l_rows, int *l_cols, const void *u,
                                double *u_values, int *u_rows, int *u_cols, struct steps_info *info,
                                void *buffer);
struct rf;
int cusolverRfCreate(struct rf **out);
int cusolverRfDestroy(struct rf *rf);
int cusolverRfSetupHost(int n, int nnz, const int *a_rows, const int *a_cols, const double *a,
                        int lower, const int *l_rows, const int *l_cols, const double *l, int upper,
                        const int *u_rows, const int *u_cols, const double *u, const int *p,
                        const int *q, struct rf *rf);
int cusolverRfRefactor(const struct rf *rf);
int cusolverRfSolve(const struct rf *rf, const int *p, const int *q, int columns, double *temporary,
                    int leading, double *x, int x_leading);

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

START_TEST(a_product_with_a_vector_reads_the_matrix)
{
    struct sparse_handle *h;
    struct sparse_object *x, *y;
    float one = 1;
    size_t bytes = 0;
    on_device("h100");
    char *at = memory(1 << 20);
    SPARSE(cusparseCreate(&h));
    SPARSE(cusparseCreateDnVec(&x, 1 << 22, at, FLOAT));
    SPARSE(cusparseCreateDnVec(&y, 1 << 22, at, FLOAT));
    struct sparse_object *a = matrix(1 << 22, 1 << 27, at, FLOAT);
    SPARSE(cusparseSpMV_bufferSize(h, 0, &one, a, x, &one, y, FLOAT, 0, &bytes));
    ck_assert_uint_gt(bytes, 0);
    ck_assert_int_eq(seen_count, 0);
    SPARSE(cusparseSpMV(h, 0, &one, a, x, &one, y, FLOAT, 0, at));
    ck_assert_int_eq(seen_count, 1);
    /* 1.07 GB of values and indices, at 3.35 TB/s at most and a quarter of it at least */
    ck_assert_int_gt(seen_ns[0], 320000);
    ck_assert_int_lt(seen_ns[0], 1280000);
    a = matrix(1 << 22, 1 << 26, at, FLOAT);
    SPARSE(cusparseSpMV(h, 0, &one, a, x, &one, y, FLOAT, 0, at));
    ck_assert_int_lt(seen_ns[1], seen_ns[0] * 6 / 10);
    ck_assert_int_eq(cusparseSpMV(NULL, 0, &one, a, x, &one, y, FLOAT, 0, at),
                     SPARSE_NOT_INITIALIZED);
    ck_assert_int_eq(cusparseSpMV(h, 0, &one, NULL, x, &one, y, FLOAT, 0, at),
                     SPARSE_INVALID_VALUE);
    SPARSE(cusparseDestroy(h));
}
END_TEST

START_TEST(products_with_matrices_take_longer)
{
    struct sparse_handle *h;
    struct sparse_object *b, *c, *square;
    float one = 1;
    void *steps;
    size_t bytes = 0;
    int64_t rows = 0, cols = 0, nnz = 0;
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
    square = matrix(1 << 16, 0, NULL, FLOAT);
    SPARSE(cusparseSpGEMM_createDescr(&steps));
    SPARSE(cusparseSpGEMM_workEstimation(h, 0, 0, &one, a, a, &one, square, FLOAT, 0, steps, &bytes,
                                         NULL));
    SPARSE(
        cusparseSpGEMM_compute(h, 0, 0, &one, a, a, &one, square, FLOAT, 0, steps, &bytes, NULL));
    ck_assert_int_eq(seen_count, 2); /* so far both were only asked for their buffers */
    SPARSE(cusparseSpMatGetSize(square, &rows, &cols, &nnz));
    ck_assert_int_eq(nnz, 1 << 28); /* 64 elements of a row meet 64 each */
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

START_TEST(an_order_of_rows_is_one)
{
    struct solver_handle *h;
    int rows[4] = {0, 1, 2, 3}, cols[3] = {0, 1, 2}, order[3] = {9, 9, 9};
    on_device("h100");
    memory(4);
    SOLVER(cusolverSpCreate(&h));
    SOLVER(cusolverSpXcsrsymrcmHost(h, 3, 3, NULL, rows, cols, order));
    ck_assert_int_eq(order[0] + order[1] + order[2], 3);
    ck_assert_int_eq(order[2], 2);
}
END_TEST

/* On the processor nothing is launched. */
START_TEST(a_sparse_factorisation_goes_in_steps)
{
    struct solver_handle *h;
    struct steps_info *info, *host;
    size_t kept = 0, work = 0;
    int at = 0;
    on_device("h100");
    memory(4);
    SOLVER(cusolverSpCreate(&h));
    SOLVER(cusolverSpCreateCsrcholInfo(&info));
    SOLVER(cusolverSpCreateCsrcholInfoHost(&host));
    SOLVER(cusolverSpXcsrcholAnalysis(h, 1000, 5000, NULL, NULL, NULL, info));
    SOLVER(cusolverSpDcsrcholBufferInfo(h, 1000, 5000, NULL, NULL, NULL, NULL, info, &kept, &work));
    ck_assert_uint_ge(kept, 5000 * sizeof(double));
    ck_assert_uint_ge(work, 5000 * sizeof(double));
    SOLVER(cusolverSpDcsrcholFactorHost(h, 1000, 5000, NULL, NULL, NULL, NULL, host, NULL));
    ck_assert_int_eq(seen_count, 0);
    SOLVER(cusolverSpDcsrcholFactor(h, 1000, 5000, NULL, NULL, NULL, NULL, info, NULL));
    SOLVER(cusolverSpDcsrcholZeroPivot(h, info, 1e-9, &at));
    ck_assert_int_eq(at, -1);
    ck_assert_int_eq(cusolverSpDcsrcholFactor(h, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL),
                     SOLVER_INVALID_VALUE);
    SOLVER(cusolverSpDcsrcholSolve(h, 1000, NULL, NULL, info, NULL));
    ck_assert_int_gt(seen_count, 2);
    SOLVER(cusolverSpDestroyCsrcholInfo(info));
    SOLVER(cusolverSpDestroyCsrcholInfoHost(host));
}
END_TEST

/* What the host extracts of an LU factorisation can be handed over to cusolverRf. */
START_TEST(factors_are_extracted_and_factored_again)
{
    enum { N = 100 };
    struct solver_handle *h;
    struct steps_info *info;
    struct rf *rf;
    int rows[N + 1] = {1}, l_rows[N + 1], u_rows[N + 1], l_cols[N], u_cols[N], p[N], q[N];
    int lower = 0, upper = 0;
    double l[N], u[N], x[N];
    on_device("h100");
    SOLVER(cusolverSpCreate(&h));
    SOLVER(cusolverSpCreateCsrluInfoHost(&info));
    SOLVER(cusolverSpXcsrluAnalysisHost(h, N, 5 * N, NULL, rows, NULL, info));
    SOLVER(cusolverSpXcsrluNnzHost(h, &lower, &upper, info));
    ck_assert_int_le(lower, N);
    ck_assert_int_le(upper, N);
    SOLVER(cusolverSpDcsrluExtractHost(h, p, q, NULL, l, l_rows, l_cols, NULL, u, u_rows, u_cols,
                                       info, NULL));
    ck_assert_int_eq(l_rows[0], 1); /* as the matrix counts */
    ck_assert_int_eq(l_rows[N], 1 + lower);
    ck_assert_int_eq(u_rows[N], 1 + upper);
    ck_assert_int_eq(p[N - 1], N - 1);
    ck_assert_int_eq(seen_count, 0);
    SOLVER(cusolverRfCreate(&rf));
    ck_assert_int_eq(cusolverRfRefactor(rf), SOLVER_INVALID_VALUE);
    SOLVER(cusolverRfSetupHost(N, 5 * N, rows, NULL, NULL, lower, l_rows, l_cols, l, upper, u_rows,
                               u_cols, u, p, q, rf));
    SOLVER(cusolverRfRefactor(rf));
    int factored = seen_count;
    ck_assert_int_gt(factored, 0);
    SOLVER(cusolverRfSolve(rf, p, q, 1, x, N, x, N));
    ck_assert_int_gt(seen_count, factored);
    SOLVER(cusolverRfDestroy(rf));
    SOLVER(cusolverSpDestroyCsrluInfoHost(info));
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
    tcase_add_test(t, a_product_with_a_vector_reads_the_matrix);
    tcase_add_test(t, factors_are_extracted_and_factored_again);
    tcase_add_test(t, products_with_matrices_take_longer);
    tcase_add_test(t, a_factorisation_goes_panel_by_panel);
    tcase_add_test(t, a_sparse_factorisation_goes_in_steps);
    tcase_add_test(t, an_order_of_rows_is_one);
    tcase_add_test(t, eigenvalues_of_many_are_one_kernel);
    tcase_add_test(t, a_sum_has_the_values_of_both);
    suite_add_tcase(s, t);
    return s;
}
