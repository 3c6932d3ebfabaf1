/* PyTorch's copies between tensors of different types, for the few values that a program may read
 * back. */
#include "values/cast.h"

#include "values/integers.h"
#include "core/core_state.h"

#include <math.h>
#include <string.h>

enum { MOST_NUMBERS = 64 /* counts and lengths, not data */ };

/* numbered as c10::ScalarType */
enum type { U8 = 0, I8 = 1, I16 = 2, I32 = 3, I64 = 4, F32 = 6, F64 = 7, BOOL = 11, BF16 = 15 };

bool vg_writable(const void *p)
{
    vg_await_flags(p, 1);
    enum vg_memory_kind kind = vg_pointer(p).kind;
    return kind == VG_MEM_DEVICE || kind == VG_MEM_MANAGED;
}

struct vg_stretch vg_stretch_of(const void *p)
{
    vg_await_flags(p, 1);
    struct vg_pointer at = vg_pointer(p);
    if (at.kind != VG_MEM_DEVICE && at.kind != VG_MEM_MANAGED)
        return (struct vg_stretch){0, 0};
    return (struct vg_stretch){(uintptr_t)at.base, (uintptr_t)at.base + at.size};
}

bool vg_small(const void *p, size_t bytes)
{
    vg_await_flags(p, bytes);
    return bytes > 0 && bytes <= vg_core.copy_limit && vg_writable(p) &&
           vg_writable((const char *)p + bytes - 1);
}

/* True for the kernel that turns flags into doubles, since PyTorch 2.15; elements.c handles
 * integers. */
static bool from_flags(const char *name)
{
    return strstr(name, "27converting_copy_kernel_cudaIbdE") &&
           (strstr(name, "2at6native29vectorized_elementwise_kernel") ||
            strstr(name, "2at6native27unrolled_elementwise_kernel"));
}

bool vg_casts(const char *name)
{
    const char *at = strstr(name, "2at6native27unrolled_elementwise_kernel");
    if (from_flags(name))
        return true;
    return at && strstr(at, "direct_copy_kernel_cuda") && strstr(at, "12LoadWithCastILi1E") &&
           strstr(at, "13StoreWithCastILi1E");
}

static unsigned bytes_of(int type)
{
    static const unsigned char bytes[] = {[U8] = 1,  [I8] = 1,  [I16] = 2,  [I32] = 4, [I64] = 8,
                                          [F32] = 4, [F64] = 8, [BOOL] = 1, [BF16] = 2};
    return type >= 0 && (size_t)type < sizeof bytes ? bytes[type] : 0;
}

unsigned vg_integer_bytes(int type)
{
    return type == F32 || type == F64 || type == BF16 ? 0 : bytes_of(type);
}

static bool is_number(int type)
{
    return type == F32 || type == F64 || type == BF16;
}

static double number_at(const char *from, int type)
{
    uint32_t bits = 0;
    float single;
    double wide;
    if (type == F64) {
        memcpy(&wide, from, sizeof wide);
        return wide;
    }
    memcpy((char *)&bits + (type == BF16 ? 2 : 0), from, bytes_of(type));
    memcpy(&single, &bits, sizeof single);
    return single;
}

/* Reads an integer; little-endian, like the device. */
int64_t vg_integer_at(const char *from, int type)
{
    uint64_t bits = 0;
    unsigned bytes = bytes_of(type), shift = 64 - 8 * bytes;
    memcpy(&bits, from, bytes);
    if (type == BOOL) /* another value was there before */
        return bits == 1;
    return type == U8 ? (int64_t)bits : (int64_t)(bits << shift) >> shift;
}

static void put_number(char *to, int type, double value)
{
    float single = (float)value;
    if (type == F64)
        memcpy(to, &value, sizeof value);
    else
        memcpy(to, (char *)&single + (type == BF16 ? 2 : 0), bytes_of(type));
}

static void cast(char *to, int to_type, const char *from, int type)
{
    double number = is_number(type) ? number_at(from, type) : 0;
    bool fits = number > -9e18 && number < 9e18; /* neither NaN nor infinite */
    int64_t integer = !is_number(type) ? vg_integer_at(from, type) : fits ? (int64_t)number : 0;
    if (to_type == BOOL)
        *to = is_number(type) ? number != 0 : integer != 0;
    else if (is_number(to_type))
        put_number(to, to_type, is_number(type) ? number : (double)integer);
    else
        memcpy(to, &integer, bytes_of(to_type));
}

struct cast {
    int8_t type;
    uint32_t bytes;
};

static void each_value(char *const at[2], int32_t n, struct cast load, struct cast store)
{
    bool numbers = is_number(load.type) || is_number(store.type);
    int32_t most = numbers ? MOST_NUMBERS : VG_MOST_INTEGERS;
    if (n <= 0 || n > most || bytes_of(load.type) != load.bytes || load.bytes == 0 ||
        bytes_of(store.type) != store.bytes || store.bytes == 0)
        return;
    if (!vg_writable(at[0]) || !vg_writable(at[0] + (size_t)n * store.bytes - 1) ||
        !vg_writable(at[1]) || !vg_writable(at[1] + (size_t)n * load.bytes - 1))
        return;
    if (load.type == BOOL && store.type == I64) {
        for (size_t i = 0; i < (size_t)n; i++) {
            int64_t flag = at[1][i] == 1;
            memcpy(at[0] + i * sizeof flag, &flag, sizeof flag);
        }
        return;
    }
    for (size_t i = 0; i < (size_t)n; i++)
        cast(at[0] + i * store.bytes, store.type, at[1] + i * load.bytes, load.type);
}

/* Arguments: the count, the functor, the addresses of result and input. If the name does not show
 * the types, also two calculators of offsets (trivial ones), and for load and store a type and the
 * bytes of an element. */
void vg_cast(const char *name, void *const *args)
{
    struct cast load = {BOOL, 1}, store = {F64, 8};
    bool told = from_flags(name);
    int32_t n;
    char *at[2];
    for (int i = 0; i < (told ? 3 : 7); i++)
        if (!args[i])
            return;
    memcpy(&n, args[0], sizeof n);
    memcpy(at, args[2], sizeof at);
    if (!told) {
        memcpy(&load, args[5], sizeof load);
        memcpy(&store, args[6], sizeof store);
    }
    each_value(at, n, load, store);
}
