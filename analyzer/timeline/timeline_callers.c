/* The program's line behind a long API call. The agent records it as a range of the domain
 * CALLER_DOMAIN with exactly the times of the call; here it becomes api.caller. */
#include "analyzer/timeline/build.h"

#include <string.h>

bool is_caller(const struct build *b, const struct row_range *r)
{
    return r->domain < b->t.strings.n &&
           strcmp(str_text(&b->t.strings, r->domain), CALLER_DOMAIN) == 0;
}

int put_caller(struct build *b, const struct row_range *r, int64_t end_ns)
{
    struct row_range *caller = vec_push(&b->callers);
    if (!caller)
        return -1;
    *caller = *r;
    caller->end_ns = end_ns;
    caller->name = r->name < b->t.strings.n ? r->name : 0;
    return 0;
}

/* String id of the place in "sync cudaStreamSynchronize() train.c:211 (train_step)", after "() ".
 * 0: none; STR_NONE: out of memory. */
static uint32_t place_of(struct build *b, uint32_t name)
{
    const char *text = str_text(&b->t.strings, name), *place = strstr(text, "() ");
    if (!place)
        return 0;
    char copy[512]; /* a copy, because adding a string may move the table */
    size_t n = strlen(place + 3);
    n = n < sizeof copy ? n : sizeof copy - 1;
    memcpy(copy, place + 3, n);
    return str_intern(&b->t.strings, copy, n);
}

int build_callers(struct build *b)
{
    struct timeline *t = &b->t;
    uint32_t name = 0, place = 0;
    for (size_t i = 0; i < b->callers.n; i++) {
        const struct row_range *r = &b->callers.at[i];
        uint32_t thread = idmap_get(&b->thread_map, r->thread);
        if (thread == TL_NONE)
            continue;
        if (r->name != name)
            place = place_of(b, name = r->name);
        if (place == STR_NONE)
            return -1;
        const struct thread *th = &t->threads[thread];
        uint32_t k = timeline_api_from(t, th, r->start_ns);
        for (; k < th->first_api + th->apis && t->apis[k].start_ns == r->start_ns; k++)
            if (t->apis[k].end_ns == r->end_ns)
                t->apis[k].caller = place;
    }
    vec_release(&b->callers);
    return 0;
}
