/* Collectives within a node, computed as NCCL's own tuner does: the cheapest protocol of a ring,
 * each with a fixed cost, a cost per hop and a rate. Trees, NVLink SHARP and networks are not
 * modelled. */
#include "core/core.h"

/* Number of sequential hops, and the share of the vector that crosses each link. */
static void ring(enum vg_collective c, int ranks, double *hops, double *share)
{
    double others = ranks - 1;
    switch (c) {
    case VG_ALL_REDUCE:
        *hops = 2 * others;
        *share = 2 * others / ranks;
        return;
    case VG_REDUCE_SCATTER:
    case VG_ALL_GATHER:
        *hops = others;
        *share = others / ranks;
        return;
    case VG_BROADCAST:
    case VG_REDUCE:
        *hops = others;
        *share = 1;
        return;
    case VG_PAIR:
        break;
    }
    *hops = 1;
    *share = 1;
}

int64_t vg_cost_collective(const struct vg_profile *p, enum vg_collective c, int ranks,
                           double bytes)
{
    const struct protocol {
        double rate, base_ns, hop_ns;
    } protocols[] = {
        {p->link_ll_bytes_per_s, p->link_ll_base_ns, p->link_ll_hop_ns},
        {p->link_ll128_bytes_per_s, p->link_ll128_base_ns, p->link_ll128_hop_ns},
        {p->link_simple_bytes_per_s, p->link_simple_base_ns, p->link_simple_hop_ns},
    };
    double hops, share, best = 0;
    ring(c, ranks, &hops, &share);
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        const struct protocol *q = &protocols[i];
        if (q->rate <= 0)
            continue;
        double ns = q->base_ns + hops * q->hop_ns + share * bytes / q->rate * 1e9;
        if (best == 0 || ns < best)
            best = ns;
    }
    return (int64_t)best;
}
