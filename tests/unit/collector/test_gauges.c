/* Readings of the GPU's gauges: which answer goes into which column, and what is written if there
 * is no answer. */
#include "tests/unit/test.h"
#include "analyzer/collector/gauges.h"

#include <string.h>

static int device;

static int find(const char *uuid, void **out)
{
    if (strcmp(uuid, "GPU-1") != 0)
        return 6;
    *out = &device;
    return 0;
}

static int utilization(void *d, struct gauges_utilization *out)
{
    ck_assert_ptr_eq(d, &device);
    *out = (struct gauges_utilization){73, 12};
    return 0;
}

static int memory(void *d, struct gauges_memory *out)
{
    (void)d;
    *out = (struct gauges_memory){80ULL << 30, 60ULL << 30, 20ULL << 30};
    return 0;
}

static int clock_info(void *d, unsigned type, unsigned *mhz)
{
    (void)d;
    *mhz = type == 1 ? 1980 : type == 2 ? 3201 : 0;
    return 0;
}

static int unsupported(void *d, unsigned *mw)
{
    (void)d, (void)mw;
    return 3;
}

static int reasons(void *d, unsigned long long *bits)
{
    (void)d;
    *bits = 4;
    return 0;
}

TEST(a_device_is_found_by_its_uuid_alone)
{
    struct gauges g = {.device_by_uuid = find}, none = {0};
    ck_assert_ptr_eq(gauges_find(&g, "GPU-1"), &device);
    ck_assert_ptr_null(gauges_find(&g, "GPU-2"));
    ck_assert_ptr_null(gauges_find(&none, "GPU-1"));
}

TEST(what_is_not_answered_is_not_known)
{
    struct gauges g = {.utilization = utilization,
                       .memory = memory,
                       .clock = clock_info,
                       .power = unsupported,
                       .reasons = reasons};
    struct row_gpu_sample s = {0};
    ck_assert(gauges_read(&g, &device, &s));
    ck_assert_int_eq(s.util_pct, 73);
    ck_assert_int_eq(s.memory_used_bytes, 20LL << 30);
    ck_assert_int_eq(s.sm_clock_mhz, 1980);
    ck_assert_int_eq(s.memory_clock_mhz, 3201);
    ck_assert_int_eq(s.throttle_reasons, 4);
    ck_assert_int_eq(s.power_mw, -1);
    ck_assert_int_eq(s.temperature_c, -1);
    ck_assert_int_eq(s.pcie_tx_bytes_per_s, -1);
}

TEST(no_answer_at_all_is_no_reading)
{
    struct gauges g = {.power = unsupported};
    struct row_gpu_sample s = {0};
    ck_assert(!gauges_read(&g, &device, &s));
}
