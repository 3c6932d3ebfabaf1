/* libcupti of the virtual GPU: what its files share. It listens to the core (struct vg_sink) and
 * writes records as CUPTI does: buffers asked for on the program's thread, handed back by CUPTI's
 * own thread or by the caller of a flush; stamps in CLOCK_REALTIME; records of running work present
 * with end = 0, and their buffer kept back until the work has ended.
 *
 * Keys in GPUPROF_VGPU (besides the core's):
 *   cupti=11.8|12.4|12.8|13.0   record layouts and version number of that release (13.0)
 *   driver_records=1            a driver record (cuLaunchKernel, ...) inside each launch
 * Misbehaviour, each as some release or neighbour of CUPTI does it:
 *   drop=P                      this share of the records is lost and counted as dropped
 *   late=MS                     stamps of device work become known so much later
 *   slow_return=MS              a pause of CUPTI's own thread between two buffers that it returns
 *   disorder=1                  records of a buffer in no order
 *   untimed_after=N             device records after the Nth have start = end = 0
 *   switch_loss=MS              for so long after kinds were turned on again on another thread, a
 *                               thread's kernels have start = end = 0, and its calls are dropped
 *   busy_subscriber=1           cuptiSubscribe: 39, another tool was first
 *   steal_callbacks_after=MS    another client registers its callbacks (until ours do again)
 *   kernels_off_after=MS        another client turns the kind of kernels off, for good
 *   clock_step=S:MS             the real-time clock is stepped by S seconds after MS
 *   null_buffer_crash=1         no buffer on request: crash, as before 12.9; else a counted drop
 *   copies_off_crash=1          turning copies or memsets off crashes the program, at once
 *   wrap_correlation=1          correlation ids start just below 2^32
 * And without being asked, as 13.0.1 does: where kinds were on, and are off when the context is
 * made with no subscriber, all later calls have the same correlation id, and waits no start.
 */
#ifndef VGPU_SHIM_CUPTI_H
#define VGPU_SHIM_CUPTI_H

#include "core/core_state.h"

#include <cupti.h>

enum { KINDS = 64 };

struct layout {
    const char *option;
    uint32_t api_version;
    uint16_t stride[KINDS]; /* record size by kind; 0 = this release does not know it */
};
const struct layout *cupti_layout(void);
bool cupti_kind_legacy(uint32_t kind);

struct misbehaviour {
    double drop;
    int64_t late_ns, slow_return_ns, steal_at_ns, kernels_off_at_ns, step_at_ns, step_ns;
    int64_t switch_loss_ns;
    uint64_t untimed_after; /* 0 = never */
    bool disorder, busy_subscriber, null_crash, copies_off_crash;
};
const struct misbehaviour *cupti_faults(void);

/* Stamps. */
uint64_t cupti_stamp(int64_t monotonic_ns);
void cupti_clock_follow(void); /* learns the offset of the real-time clock again */
void cupti_clock_own(CUpti_TimestampCallbackFunc f); /* stamps are the client's; NULL: no longer */

/* Kinds. */
bool cupti_kind_on(uint32_t kind);
bool cupti_subscribed(void);
bool cupti_numbers(void);   /* asked when a context is made */
bool cupti_switching(void); /* another thread turned kernels on a moment ago (switch_loss) */
bool cupti_api_on(uint32_t kind, uint32_t cbid);
uint32_t cupti_thread_id(void);

/* Buffers. A record is `stride` bytes of `record`, padded with zeros; its start and end are put in
 * when `due_ns` has passed (0 = they are in it already). */
struct timing {
    int64_t start_ns, end_ns;  /* monotonic */
    unsigned start_at, end_at; /* byte offsets in the record */
};
void buffer_append(const void *record, size_t bytes, const struct timing *t);
void buffers_flush(bool forced);
void buffers_register(CUpti_BuffersCallbackRequestFunc request,
                      CUpti_BuffersCallbackCompleteFunc complete);
void buffers_per_thread(bool on);
bool buffers_are_per_thread(void);
void buffers_zeroed(bool on);
size_t buffers_dropped(void); /* and resets */

/* Records and callbacks from the core. */
void cupti_listen(void);
void callbacks_enter(struct vg_api *api);
void callbacks_exit(struct vg_api *api);
void callbacks_end(void);              /* the subscription too */
void records_of_device(uint32_t kind); /* DEVICE, CONTEXT, STREAM: what exists now */

#endif
