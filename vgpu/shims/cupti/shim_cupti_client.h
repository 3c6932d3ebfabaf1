/* The clients of CUPTI. Client 0 is everybody who uses the first interface: one set of kinds and buffers for the whole
 * process, and one subscriber. Each other client is a subscriber of the second interface (since 13.3).
 *
 * A process uses one interface at a time. A call of one that comes while the other one is in use returns
 * CUPTI_ERROR_NOT_COMPATIBLE; README.md says what of this is known and what is guessed. */
#ifndef VGPU_SHIM_CUPTI_CLIENT_H
#define VGPU_SHIM_CUPTI_CLIENT_H

#include "shims/cupti/shim_cupti_buffer.h"
#include "shims/cupti/shim_cupti_second.h"

enum { CLIENTS = 8, CBIDS = 1024, DOMAINS = 8, NAME_BYTES = 64, OWN_FIELDS = 64 };

/* What records of a kind consist of, if the client has chosen their fields. */
struct own_record {
    struct second_layout layout;
    struct second_entry entries[OWN_FIELDS];
    struct {
        uint16_t from,
            bytes; /* place and size in the record of all fields; 0 bytes: not modelled */
    } source[OWN_FIELDS];
};

struct CUpti_Subscriber_st {
    _Atomic bool used;
    _Atomic(CUpti_CallbackFunc) call; /* NULL: no subscriber */
    _Atomic(void *) user;
    char name[NAME_BYTES];
    _Atomic uint8_t on[DOMAINS][CBIDS];
    _Atomic bool enabled[KINDS];
    _Atomic uint8_t calls_off[2][CBIDS]; /* runtime, driver */
    bool own_records, system_threads;
    struct own_record *own[KINDS]; /* they stay, because buffers that are out refer to them */
    struct second_layout *layouts[KINDS];
    /* The buffers' lock protects these. */
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    second_request request2;
    second_complete complete2;
    struct slot shared;
    bool zeroed;
    size_t dropped;
};
extern struct CUpti_Subscriber_st cupti_clients[CLIENTS];

/* Begins or continues the use of an interface: CUPTI_ERROR_NOT_COMPATIBLE if the other one is in use. */
CUptiResult cupti_first(void);
CUptiResult cupti_second(CUpti_SubscriberHandle s); /* INVALID_PARAMETER: no such subscriber */
void cupti_scope_end(void);
bool cupti_has_second(void); /* this release has the second interface */
uint8_t cupti_several(void); /* 0, 1 or SECOND_SEVERAL_UNSET */
int cupti_subscribers(void); /* of the second interface */

bool client_kind_on(const struct CUpti_Subscriber_st *c, uint32_t kind);
bool client_takes(const struct CUpti_Subscriber_st *c, const void *record);
void client_calls_all(struct CUpti_Subscriber_st *c, uint32_t kind);
/* Turns a kind on; dump: writes records of what exists. */
CUptiResult client_enable(struct CUpti_Subscriber_st *c, uint32_t kind, bool dump);
CUptiResult client_disable(struct CUpti_Subscriber_st *c, uint32_t kind);
CUptiResult client_filter(struct CUpti_Subscriber_st *c, bool driver, CUpti_CallbackId cbid,
                          bool on);
void client_leave(struct CUpti_Subscriber_st *c); /* forgets its buffers (shim_cupti_buffer.c) */
/* The client's record of this kind has the chosen fields (shim_cupti_fields.c). */
CUptiResult client_choose(struct CUpti_Subscriber_st *c, uint32_t kind,
                          const struct second_selection *s);
/* Bytes of the client's records of a kind; 0: it has none. */
size_t client_stride(const struct CUpti_Subscriber_st *c, uint32_t kind);
/* Makes the client's record of a whole one. */
void client_convert(const struct CUpti_Subscriber_st *c, const void *record, size_t bytes,
                    const struct timing *t, struct held *out);
CUptiResult client_next(const struct CUpti_Subscriber_st *c, uint8_t *buffer, size_t valid,
                        CUpti_Activity **record);
/* Ids that a client has pushed: a stack of each thread's (shim_cupti_callback.c). */
CUptiResult client_push(const struct CUpti_Subscriber_st *c, CUpti_ExternalCorrelationKind kind,
                        uint64_t id);
CUptiResult client_pop(const struct CUpti_Subscriber_st *c, CUpti_ExternalCorrelationKind kind,
                       uint64_t *last);

#endif
