/* CUPTI's second activity interface, as the vendor's headers of CUPTI 13.4 declare it: each subscriber has its own kinds,
 * buffers and attributes. Under names of our own, because the headers that the build uses may be older or newer; what a
 * newer header declares is checked against it below. */
#ifndef VGPU_SHIM_CUPTI_SECOND_H
#define VGPU_SHIM_CUPTI_SECOND_H

#include <cupti.h>

#include <stddef.h>
#include <stdint.h>

struct second_params { /* of cuptiSubscribe_v2; `several` exists since 13.2 */
    size_t bytes;
    const char *name;
    char *old_name;
    size_t old_size;
    uint8_t several, padding[7];
};
struct second_selection { /* the first field is the kind */
    size_t bytes, fields;
    const int *ids;
};
struct second_config {
    size_t bytes;
    struct second_selection selection;
    const void *options; /* since 13.4 */
};
struct second_cbids {
    size_t bytes;
    const CUpti_CallbackId *ids;
    size_t n;
    uint8_t allow; /* 1: only these calls; 0: all but these */
};
struct second_options { /* of the kinds of calls */
    size_t bytes;
    const struct second_cbids *cbids;
};
struct second_entry {
    size_t bytes;
    int id;
    size_t offset, size, alignment;
};
struct second_layout {
    size_t bytes;
    struct second_entry *entries;
    size_t fields, record;
};
struct second_requested {
    size_t bytes;
};
struct second_completed {
    size_t bytes;
    uint64_t thread;
    struct second_layout **layouts; /* by kind; NULL: the kind has none */
    size_t n;
};
typedef void (*second_request)(uint8_t **buffer, size_t *size, size_t *most,
                               struct second_requested *info);
typedef void (*second_complete)(uint8_t *buffer, size_t size, size_t valid,
                                struct second_completed *info);

/* Attributes. Those of a number below also exist in the first interface. */
enum {
    SECOND_ATTR_OWN_RECORDS = 11,
    SECOND_ATTR_SEVERAL = 12,
    SECOND_ATTR_HARDWARE_EVENTS = 13,
    SECOND_ATTR_ALLOCATION_SOURCE =
        14, /* to 19: switches of one byte without effect in the model */
    SECOND_ATTR_DEVICE_GRAPHS = 19,
    SECOND_ATTR_WHOLE_GRAPHS = 20,
    SECOND_ATTR_THREAD_IDS = 21,
    SECOND_ATTR_CLOCK = 22,
    SECOND_SEVERAL_UNSET = 2,
};

#if CUPTI_API_VERSION >= 130400
#define SAME(a, b) _Static_assert(sizeof(struct second_##a) == sizeof(b), #a)
SAME(params, CUpti_SubscriberParams);
SAME(selection, CUpti_ActivityFieldSelection);
SAME(config, CUpti_ActivityConfig);
SAME(cbids, CUpti_ActivityApiCbidOptions);
SAME(options, CUpti_ActivityApiOptions);
SAME(entry, CUpti_ActivityFieldLayoutEntry);
SAME(layout, CUpti_ActivityRecordLayout);
SAME(requested, CUpti_BufferCallbackRequestInfo);
SAME(completed, CUpti_BufferCallbackCompleteInfo);
#undef SAME
_Static_assert(SECOND_ATTR_OWN_RECORDS == CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS, "attribute");
_Static_assert(SECOND_ATTR_SEVERAL == CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE, "attribute");
_Static_assert(SECOND_ATTR_THREAD_IDS == CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE, "attribute");
_Static_assert(SECOND_ATTR_CLOCK == CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK, "attribute");
#endif
#endif
