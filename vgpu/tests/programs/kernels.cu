// Kernels as people write them by hand, each launched twice with known sizes: what they cost on the
// virtual GPU must follow from their code. kernels.py knows the bounds.
#include <cstdio>
#include <cuda_runtime.h>

enum { SIDE = 4096, TILE = 32 };

// lanes along the rows of `a`: 32 lines for each of its loads
__global__ void product_apart(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.x * TILE + threadIdx.x, column = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void product_naive(const float *a, const float *b, float *c, int n)
{
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void product_tiled(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE + x,
        row = blockIdx.y * TILE + y;
    float sum = 0;
    for (int at = 0; at < n; at += TILE) {
        left[y][x] = a[row * n + at + x];
        right[y][x] = b[(at + y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// a tile of 64 x 64, eight results of a column for each of 512 threads
__global__ void product_column(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[64][8], right[8][64];
    int t = threadIdx.x, column = t % 64, rows = t / 64 * 8;
    float sum[8] = {};
    a += (size_t)blockIdx.y * 64 * n;
    b += blockIdx.x * 64;
    for (int at = 0; at < n; at += 8) {
        left[t / 8][t % 8] = a[t / 8 * n + at + t % 8];
        right[t / 64][column] = b[(at + t / 64) * n + column];
        __syncthreads();
        for (int k = 0; k < 8; k++)
            for (int i = 0; i < 8; i++)
                sum[i] += left[rows + i][k] * right[k][column];
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        c[(size_t)(blockIdx.y * 64 + rows + i) * n + blockIdx.x * 64 + column] = sum[i];
}

// a tile of 128 x 128, eight by eight results for each of 256 threads
__global__ void product_square(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[128 * 8], right[8 * 128];
    int t = threadIdx.x, columns = t % 16 * 8, rows = t / 16 * 8;
    float sum[8][8] = {}, l[8], r[8];
    a += (size_t)blockIdx.y * 128 * n;
    b += blockIdx.x * 128;
    for (int at = 0; at < n; at += 8) {
        for (int o = 0; o < 128; o += 32)
            left[(t / 8 + o) * 8 + t % 8] = a[(t / 8 + o) * n + at + t % 8];
        for (int o = 0; o < 8; o += 2)
            right[(t / 128 + o) * 128 + t % 128] = b[(at + t / 128 + o) * n + t % 128];
        __syncthreads();
        for (int k = 0; k < 8; k++) {
            for (int i = 0; i < 8; i++) {
                l[i] = left[(rows + i) * 8 + k];
                r[i] = right[k * 128 + columns + i];
            }
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++)
                    sum[i][j] += l[i] * r[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            c[(size_t)(blockIdx.y * 128 + rows + i) * n + blockIdx.x * 128 + columns + j] =
                sum[i][j];
}

__global__ void gelu(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i], cube = 0.044715f * x * x * x;
        out[i] = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + cube)));
    }
}

// a few blocks, each thread many elements
__global__ void scale_stride(const float *in, float *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = 2 * in[i];
}

__global__ void total(const float *in, float *out, int n)
{
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    part[threadIdx.x] = sum;
    for (int k = 128; k > 0; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k)
            part[threadIdx.x] += part[threadIdx.x + k];
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

__global__ void transpose_naive(const float *in, float *out, int n)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        out[x * n + y + j] = in[(y + j) * n + x];
}

template <int WIDTH> // of a row: TILE + 1 keeps a column's words in different banks
__global__ void transpose_tile(const float *in, float *out, int n)
{
    __shared__ float tile[TILE][WIDTH];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void stencil(const float *in, float *out, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1) {
        size_t i = (size_t)y * n + x;
        out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
    }
}

__global__ void softmax(const float *in, float *out, int n) // a warp for a row
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float highest = -1e30f, sum = 0;
    in += (size_t)row * n;
    out += (size_t)row * n;
    for (int i = lane; i < n; i += 32)
        highest = fmaxf(highest, in[i]);
    for (int o = 16; o > 0; o /= 2)
        highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, o));
    for (int i = lane; i < n; i += 32)
        sum += expf(in[i] - highest);
    for (int o = 16; o > 0; o /= 2)
        sum += __shfl_xor_sync(~0u, sum, o);
    for (int i = lane; i < n; i += 32)
        out[i] = expf(in[i] - highest) / sum;
}

// each thread as many turns as the copy to the device says
__global__ void turns(const int *count, float *out)
{
    float x = 1;
    for (int i = 0; i < count[0]; i++)
        x = x * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

static cudaEvent_t before, after;

static void report(const char *kernel)
{
    float ms = 0;
    cudaEventRecord(after);
    cudaEventSynchronize(after);
    cudaEventElapsedTime(&ms, before, after);
    printf("%s %.3f us\n", kernel, 1000 * ms);
}

// launches it, which loads it, and again between two events
#define TIMED(kernel, grid, block, ...)                                                            \
    do {                                                                                           \
        kernel<<<grid, block>>>(__VA_ARGS__);                                                      \
        cudaEventRecord(before);                                                                   \
        kernel<<<grid, block>>>(__VA_ARGS__);                                                      \
        report(#kernel);                                                                           \
    } while (0)

int main()
{
    const int n = SIDE, all = n * n, thousand = 1000;
    float *a, *b, *c;
    int *count;
    size_t bytes = (size_t)all * sizeof(float);
    if (cudaMalloc(&a, bytes) || cudaMalloc(&b, bytes) || cudaMalloc(&c, bytes) ||
        cudaMalloc(&count, 4))
        return 1;
    cudaMemcpy(count, &thousand, sizeof thousand, cudaMemcpyHostToDevice);
    dim3 tiles(n / TILE, n / TILE), tile(TILE, TILE), flat(TILE, 8), stripes(n / TILE, n / 8);
    cudaEventCreate(&before);
    cudaEventCreate(&after);
    TIMED(product_apart, tiles, tile, a, b, c, n);
    TIMED(product_naive, tiles, tile, a, b, c, n);
    TIMED(product_tiled, tiles, tile, a, b, c, n);
    TIMED(product_column, dim3(n / 64, n / 64), 512, a, b, c, n);
    TIMED(product_square, dim3(n / 128, n / 128), 256, a, b, c, n);
    TIMED(gelu, all / 256, 256, a, c, all);
    TIMED(scale_stride, 1056, 256, a, c, all);
    TIMED(total, 1056, 256, a, c, all);
    TIMED(transpose_naive, tiles, flat, a, c, n);
    TIMED(transpose_tile<TILE>, tiles, flat, a, c, n);
    TIMED(transpose_tile<TILE + 1>, tiles, flat, a, c, n);
    TIMED(stencil, stripes, flat, a, c, n);
    TIMED(softmax, n / 8, 256, a, c, n);
    TIMED(turns, 132, 256, count, c);
    cudaError_t bad = cudaDeviceSynchronize();
    printf("kernels: %s\n", cudaGetErrorString(bad));
    return bad != cudaSuccess;
}
