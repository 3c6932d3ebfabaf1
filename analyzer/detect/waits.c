/* Counts in how many segments the host waits for the GPU, and keeps the cuts that such waits
 * confirm; see waits.h. */
#include "analyzer/detect/waits.h"

#include "analyzer/detect/limits.h"

#include <stdlib.h>

static bool is_wait(const struct api *a)
{
    return a->kind == API_SYNC_DEVICE || a->kind == API_SYNC_STREAM || a->kind == API_SYNC_EVENT ||
           a->kind == API_COPY_SYNC;
}

/* Returns the segment in which the time `ns` lies, or n if in none. Segment i goes from position
 * p[i] to p[i + 1]. */
static size_t segment_at(const struct sequence *s, const uint32_t *p, size_t n, int64_t ns)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->time[p[mid + 1]] <= ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && s->time[p[0]] <= ns ? low : n;
}

static bool is_wait_for_device(const struct api *a)
{
    return a->kind == API_SYNC_DEVICE;
}

/* Returns the share of the segments in which the host makes a call that `wait` accepts; -1 without
 * memory. */
static double share_with(bool wait(const struct api *), const struct cut *c,
                         const struct sequence *s, const struct timeline *t, uint32_t process)
{
    size_t n = count_of(s, c->token) - 1, with = 0;
    const uint32_t *p = s->position + s->first[c->token];
    bool *seen = calloc(n + 1, sizeof *seen);
    if (!seen)
        return -1;
    for (size_t i = 0; i < t->api_count; i++) {
        const struct api *a = &t->apis[i];
        if (!wait(a) || t->threads[a->thread].process != process)
            continue;
        size_t g = segment_at(s, p, n, a->start_ns);
        if (g < n && !seen[g]) {
            seen[g] = true;
            with++;
        }
    }
    free(seen);
    return n ? (double)with / (double)n : 0;
}

static bool long_ones(const struct cut *c, const struct sequence *s)
{
    size_t n = count_of(s, c->token) - 1;
    const uint32_t *p = s->position + s->first[c->token];
    return n > DETECT_LAYERS_MOST && p[n] - p[0] >= n * DETECT_LAYER_LONG;
}

int keep_cuts_with_waits(struct cut *cuts, int n, const struct sequence *s,
                         const struct timeline *t, uint32_t process)
{
    int left = 0;
    for (int i = 0; i < n; i++) {
        double share = share_with(is_wait, &cuts[i], s, t, process);
        if (share < 0)
            return -1;
        if (long_ones(&cuts[i], s) || share >= DETECT_NEARLY_ALL)
            cuts[left++] = cuts[i];
    }
    return left;
}

double waits_for_device(const struct cut *c, const struct sequence *s, const struct timeline *t,
                        uint32_t process)
{
    return share_with(is_wait_for_device, c, s, t, process);
}

int waits_pass(const struct cut **c, const struct cut *passes, int n, const struct sequence *s,
               const struct timeline *t, uint32_t process)
{
    const struct cut *best = NULL;
    for (int i = 0; i < n; i++) {
        const struct cut *o = &passes[i];
        if ((double)o->k * DETECT_TWICE > (double)(*c)->k || (best && o->votes <= best->votes))
            continue;
        double share = share_with(is_wait_for_device, o, s, t, process);
        if (share < 0)
            return -1;
        best = share >= DETECT_NEARLY_ALL ? o : best;
    }
    *c = best ? best : *c;
    return 0;
}
