/* Finds which ranks a collective belongs to. PyTorch names the process group, and lists its
 * ranks. All ranks of a group use the same name, and no other group of the job has it. The list,
 * "[0, 2]" or [0, 2], distinguishes groups that two programs name alike. A send and its receive
 * belong to a pair of ranks: all stages of a pipeline share one group, but each pair
 * communicates at its own pace. */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"

#include <string.h>

static uint64_t mixed(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

/* Adds the numbers in a text to the hash, in order. */
static uint64_t numbers(uint64_t h, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v = 0;
        bool any = false;
        for (; i < n && s[i] >= '0' && s[i] <= '9'; i++, any = true)
            v = v * 10 + (uint64_t)(s[i] - '0');
        h = any ? mixed(h, v + 1) : h;
    }
    return h;
}

int kineto_take_group_name(struct kineto *k, struct kineto_event *v)
{
    enum json_token t = json_next(&k->json);
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(&k->json);
    if (t == JSON_STRING && k->json.length)
        v->group_hash += mixed(1, str_hash(k->json.text, k->json.length));
    return t == JSON_ERROR ? -1 : 0;
}

int kineto_take_group_ranks(struct kineto *k, struct kineto_event *v)
{
    uint64_t h = 2;
    enum json_token t = json_next(&k->json);
    if (t == JSON_OBJECT)
        return json_skip_rest(&k->json);
    if (t == JSON_STRING)
        h = numbers(h, k->json.text, k->json.length);
    for (bool list = t == JSON_ARRAY; list && t != JSON_ERROR;) {
        t = json_next(&k->json);
        if (t == JSON_ARRAY_END)
            break;
        if (t == JSON_OBJECT || t == JSON_ARRAY)
            t = json_skip_rest(&k->json) < 0 ? JSON_ERROR : t;
        else if (t != JSON_ERROR)
            h = numbers(h, k->json.text, k->json.length);
    }
    v->group_hash += h == 2 ? 0 : h;
    return t == JSON_ERROR ? -1 : 0;
}

int64_t kineto_communicator(const struct kineto *k, const struct kineto_event *v)
{
    uint64_t h = v->group_hash;
    if (h == 0)
        return -1;
    int64_t peer = v->to_rank >= 0 ? v->to_rank : v->from_rank, own = kineto_rank(k);
    if (peer >= 0) {
        own = own >= 0 ? own : v->rank;
        /* a rank without a number must match no other rank rather than a wrong one */
        h = mixed(h, own < 0 ? (uint64_t)kineto_at(k) + UINT64_MAX / 2
                             : (uint64_t)(own < peer ? own : peer));
        h = mixed(h, own < 0 ? 0 : (uint64_t)(own < peer ? peer : own));
    }
    int64_t number = (int64_t)(h & INT64_MAX);
    return number ? number : 1;
}
