/* Inside the cuRAND shim: generators and what they draw. cuRAND's header is not asked for: the
 * types are those of its binary interface, the numbers those of its enumerations. */
#ifndef VGPU_SHIM_CURAND_H
#define VGPU_SHIM_CURAND_H

#include "core/core.h"
#include "shims/vendor_call.h"

enum {
    RAND_SUCCESS = 0,
    RAND_NOT_INITIALIZED = 101,
    RAND_ALLOCATION_FAILED = 102,
    RAND_TYPE_ERROR = 103,
    RAND_OUT_OF_RANGE = 104,
    RAND_LENGTH_NOT_MULTIPLE = 105,
    RAND_LAUNCH_FAILURE = 201,
    RAND_INITIALIZATION_FAILED = 203,
};

enum { RAND_PLACES = 256 };

struct rand_kind {
    int type;
    const char *state; /* as the library's kernels name it */
    bool quasi, wide;  /* wide: draws 64 bits */
    double passes;     /* of the memory that a uniform number takes: a guess */
};

struct rand_generator {
    const struct rand_kind *kind;
    bool on_host, seeded;
    unsigned dimensions;
    uint64_t seed, position;           /* of the next number in the sequence */
    uint64_t large;                    /* bytes of large arrays that got values */
    const void *large_at[RAND_PLACES]; /* where: the last ones, in turn */
    size_t large_count;
    struct vg_stream *stream;
};

/* What a call asks for; the values follow from the generator's seed and position alone. */
enum rand_shape { RAND_BITS, RAND_UNIFORM, RAND_NORMAL, RAND_LOG_NORMAL, RAND_POISSON };
struct rand_draw {
    enum rand_shape shape;
    bool wide; /* 64-bit integers or doubles */
    double a, b;
};
void rand_fill(const struct rand_generator *g, const struct rand_draw *d, void *out, size_t n);
uint64_t rand_bits(uint64_t seed, uint64_t i);

#endif
