/* What the files of the virtual GPU's libcupti share. The library listens to the core (struct
 * vg_sink) and writes records as CUPTI does: it requests buffers on the program's thread; its own
 * thread or the caller of a flush returns them; stamps are in CLOCK_REALTIME; the record of running
 * work exists with end = 0, and its buffer is not returned before the work has ended.
 *
 * Keys in GPUPROF_VGPU (besides the core's):
 *   cupti=11.8|12.4|12.8|13.0|13.3|13.4|13.5   record layouts and version number of that release (13.0); from 13.3 on
 *                               with the second interface (shim_cupti_client.h)
 *   one_subscriber=1            the driver is older than CUPTI 13.3 needs for several subscribers
 *   driver_records=1            a driver record (cuLaunchKernel, ...) inside each launch
 *   no_second_kernels=1         the second interface refuses the kind of kernels
 * Misbehaviour. Each key imitates what some release of CUPTI, or another tool beside it, does:
 *   drop=P                      this share of the records is lost and counted as dropped
 *   late=MS                     stamps of device work become known this much later
 *   slow_return=MS              CUPTI's own thread pauses between two buffers that it returns
 *   disorder=1                  the records of a buffer are in no order
 *   untimed_after=N             device records after the Nth have start = end = 0
 *   switch_loss=MS              for so long after a thread turned kernels on again, the kernels
 *                               of the other threads have start = end = 0, and their calls are
 *                               dropped
 *   busy_subscriber=1           cuptiSubscribe returns 39: another tool has subscribed before
 *   steal_callbacks_after=MS    another client registers its buffer callbacks (until ours
 *                               registers them again)
 *   kernels_off_after=MS        another client turns the kind of kernels off, for good
 *   clock_step=S:MS             the real-time clock is stepped by S seconds after MS
 *   null_buffer_crash=1         a request that gives no buffer crashes, as before 12.9;
 *                               otherwise the record counts as dropped
 *   copies_off_crash=1          turning copies or memsets off crashes the program at once
 *   wrap_correlation=1          correlation ids start just below 2^32
 * One misbehaviour of 13.0.1 is always imitated: if kinds of calls were turned on and off again,
 * and there is no subscriber when the context is made, all later calls have the same correlation id
 * and the records of waits have start = 0. */
#ifndef VGPU_SHIM_CUPTI_H
#define VGPU_SHIM_CUPTI_H

#include "core/core_state.h"

#include <cupti.h>

enum { KINDS = 64 };

struct layout {
    const char *option;
    uint32_t api_version;
    /* Size of a record by its kind; 0: this release does not know the kind. */
    uint16_t stride[KINDS];
};
const struct layout *cupti_layout(void);
bool cupti_kind_legacy(uint32_t kind);

struct misbehaviour {
    double drop;
    int64_t late_ns, slow_return_ns, steal_at_ns, kernels_off_at_ns, step_at_ns, step_ns;
    int64_t switch_loss_ns;
    uint64_t untimed_after; /* 0: never */
    bool disorder, busy_subscriber, null_crash, copies_off_crash;
};
const struct misbehaviour *cupti_faults(void);

/* Time stamps. */
uint64_t cupti_stamp(int64_t monotonic_ns);
void cupti_clock_follow(void); /* measures the offset of the real-time clock again */
/* From now on stamps come from the client's clock; NULL: no longer. */
void cupti_clock_own(CUpti_TimestampCallbackFunc f);

/* Which kinds of records are on, for any client. */
bool cupti_kind_on(uint32_t kind);
bool cupti_subscribed(void);
/* False: calls get no correlation ids of their own. Asked when a context is made. */
bool cupti_numbers(void);
bool cupti_switching(void); /* another thread turned kernels on again a moment ago (switch_loss) */
bool cupti_api_on(uint32_t kind, uint32_t cbid);
uint32_t cupti_thread_id(bool system);

/* Buffers. A record consists of `bytes` bytes of `record`, padded with zeros to the release's size
 * of its kind. If `t` is given, start and end are written when the work has ended; otherwise the
 * record already contains them. */
struct timing {
    int64_t start_ns, end_ns;  /* in CLOCK_MONOTONIC */
    unsigned start_at, end_at; /* byte offsets in the record */
};
void buffer_append(const void *record, size_t bytes, const struct timing *t);
/* For one client alone; NULL: for all. */
void buffer_append_to(CUpti_SubscriberHandle client, const void *record, size_t bytes);
void buffers_flush(bool forced);
void buffers_register(CUpti_BuffersCallbackRequestFunc request,
                      CUpti_BuffersCallbackCompleteFunc complete);
void buffers_start(void); /* the thread that returns buffers */
void buffers_lock(void);
void buffers_unlock(void);
void buffers_per_thread(bool on);
bool buffers_are_per_thread(void);
size_t
buffers_dropped(CUpti_SubscriberHandle client); /* since the last call: it resets the count */

/* Records and callbacks that the core triggers. */
void cupti_listen(void);
void callbacks_enter(struct vg_api *api);
void callbacks_exit(struct vg_api *api);
void callbacks_end(void); /* called when the subscription ends, too */
/* Writes records of the devices, contexts or streams (`kind`) that exist now, for one client. */
void records_of_device(CUpti_SubscriberHandle client, uint32_t kind);

#endif
