#include "analyzer/detect/waits.h"

#include <stdlib.h>

static bool is_wait(const struct api *a)
{
    return a->kind == API_SYNC_DEVICE || a->kind == API_SYNC_STREAM || a->kind == API_SYNC_EVENT ||
           a->kind == API_COPY_SYNC;
}

/* The segment in which a moment lies, n = in none. Segment i goes from position p[i] to p[i + 1].
 */
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

/* `seen`: by segment, all false. */
static bool waits_in_each(const struct cut *c, const struct sequence *s, const struct timeline *t,
                          uint32_t process, bool *seen)
{
    const double NEARLY = 0.9;
    size_t n = count_of(s, c->token) - 1, with = 0;
    const uint32_t *p = s->position + s->first[c->token];
    for (size_t i = 0; i < t->api_count; i++) {
        const struct api *a = &t->apis[i];
        if (!is_wait(a) || t->threads[a->thread].process != process)
            continue;
        size_t g = segment_at(s, p, n, a->start_ns);
        if (g < n && !seen[g]) {
            seen[g] = true;
            with++;
        }
    }
    return (double)with >= NEARLY * (double)n;
}

static bool long_ones(const struct cut *c, const struct sequence *s)
{
    const size_t LONG = 100; /* operations: more than a layer has */
    size_t n = count_of(s, c->token) - 1;
    const uint32_t *p = s->position + s->first[c->token];
    return n > CUT_FEW && p[n] - p[0] >= n * LONG;
}

int waits_left_out(struct cut *cuts, int n, const struct sequence *s, const struct timeline *t,
                   uint32_t process)
{
    int left = 0;
    for (int i = 0; i < n; i++) {
        bool *seen = calloc(count_of(s, cuts[i].token), sizeof *seen);
        if (!seen)
            return -1;
        if (long_ones(&cuts[i], s) || waits_in_each(&cuts[i], s, t, process, seen))
            cuts[left++] = cuts[i];
        free(seen);
    }
    return left;
}
