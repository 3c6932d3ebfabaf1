/* One function per table: checks a row and keeps what is needed of it. */
#include "analyzer/timeline/build.h"

/* True if the row can be used. Sets an end before the start to the start. */
static bool clean_span(struct build *b, enum row_kind kind, int64_t start, int64_t *end)
{
    bool ok = tl_is_time(start) && tl_is_time(*end);
    if (ok && *end < start) {
        b->repairs.reversed++;
        *end = start;
    }
    ok = ok && clean_total(*end - start, TL_TOTAL_MAX, &b->total_ns[kind]);
    b->repairs.absurd += !ok;
    return ok;
}

static int64_t clean_bytes(struct build *b, enum row_kind kind, int64_t v)
{
    bool ok = v >= 0 && v <= TL_TIME_MAX && clean_total(v, TL_TOTAL_MAX, &b->total_bytes[kind]);
    b->repairs.numbers += !ok && v > 0;
    return ok ? v : 0;
}

static int add_op(struct build *b, enum row_kind kind, struct op o, struct refs r)
{
    if (!clean_span(b, kind, o.start_ns, &o.end_ns))
        return 0;
    o.bytes = clean_bytes(b, kind, o.bytes);
    struct op *op = vec_push(&b->ops);
    struct refs *refs = op ? vec_push(&b->op_refs) : NULL;
    if (!refs)
        return -1;
    o.api = o.stream = TL_NONE;
    *op = o;
    *refs = r;
    return 0;
}

/* Some sources number the graph, some its nodes, some both. */
static uint8_t graph_part(int64_t graph, int64_t node)
{
    return graph > 0 || node > 0 ? GRAPH_NODE : GRAPH_NONE;
}

/* Size of a grid or block in one dimension. 0, and counted, if it exceeds the GPU's limit. */
static uint32_t launched(struct build *b, int64_t v, int64_t most)
{
    b->repairs.numbers += v > most;
    return v > most ? 0 : clamp32(v);
}

int put_kernel(struct build *b, const void *row)
{
    const struct row_kernel *k = row;
    return add_op(b, ROW_KERNEL,
                  (struct op){
                      .start_ns = k->start_ns,
                      .end_ns = k->end_ns,
                      .row = k->id,
                      .name = clean_name(b, k->name),
                      .full_name = clean_name(b, k->name),
                      .grid = {launched(b, k->grid_x, INT32_MAX), launched(b, k->grid_y, 65536),
                               launched(b, k->grid_z, 65536)},
                      .block = {(uint16_t)launched(b, k->block_x, 1024),
                                (uint16_t)launched(b, k->block_y, 1024),
                                (uint16_t)launched(b, k->block_z, 1024)},
                      .registers = clamp8(k->registers),
                      .shared_kib = clean_shared(k),
                      .kind = OP_KERNEL,
                      .is_async = -1,
                      .in_graph = k->graph > 0 && k->graph_node == 0 && k->grid_x == 0
                                      ? GRAPH_WHOLE /* a single kernel would have a grid */
                                      : graph_part(k->graph, k->graph_node),
                      .node = (uint32_t)k->graph_node,
                  },
                  (struct refs){k->process, k->stream, k->correlation});
}

int put_copy(struct build *b, const void *row)
{
    const struct row_copy *c = row;
    return add_op(b, ROW_COPY,
                  (struct op){
                      .start_ns = c->start_ns,
                      .end_ns = c->end_ns,
                      .row = c->id,
                      .bytes = c->bytes,
                      .kind = OP_COPY,
                      .copy_kind = clamp8(c->kind),
                      .src_kind = clamp8(c->src_kind),
                      .dst_kind = clamp8(c->dst_kind),
                      .is_async = (int8_t)(c->is_async > 0   ? 1
                                           : c->is_async < 0 ? -1
                                                             : 0),
                      .in_graph = graph_part(c->graph, c->graph_node),
                      .node = (uint32_t)c->graph_node,
                  },
                  (struct refs){c->process, c->stream, c->correlation});
}

int put_memset(struct build *b, const void *row)
{
    const struct row_memset *m = row;
    return add_op(b, ROW_MEMSET,
                  (struct op){
                      .start_ns = m->start_ns,
                      .end_ns = m->end_ns,
                      .row = m->id,
                      .bytes = m->bytes,
                      .kind = OP_MEMSET,
                      .is_async = -1,
                      .in_graph = graph_part(m->graph, m->graph_node),
                      .node = (uint32_t)m->graph_node,
                  },
                  (struct refs){m->process, m->stream, m->correlation});
}

int put_api(struct build *b, const void *row)
{
    const struct row_api *a = row;
    int64_t end = a->end_ns;
    if (!clean_span(b, ROW_API, a->start_ns, &end))
        return 0;
    struct api *api = vec_push(&b->apis);
    struct refs *refs = api ? vec_push(&b->api_refs) : NULL;
    if (!refs)
        return -1;
    *api = (struct api){.start_ns = a->start_ns,
                        .end_ns = end,
                        .row = a->id,
                        .name = clean_name(b, a->name),
                        .op = TL_NONE,
                        .sync = TL_NONE,
                        .layer = a->layer == 1,
                        .error = clamp16(a->result)};
    *refs = (struct refs){a->process, a->thread, a->correlation};
    return 0;
}

int put_sync(struct build *b, const void *row)
{
    const struct row_sync *s = row;
    int64_t end = s->end_ns;
    if (!clean_span(b, ROW_SYNC, s->start_ns, &end))
        return 0;
    struct sync *sync = vec_push(&b->syncs);
    struct refs *refs = sync ? vec_push(&b->sync_refs) : NULL;
    if (!refs)
        return -1;
    *sync = (struct sync){.start_ns = s->start_ns,
                          .end_ns = end,
                          .row = s->id,
                          .api = TL_NONE,
                          .event = s->event,
                          .event_sync = s->event_sync,
                          .type = clamp8(s->type)};
    *refs = (struct refs){s->process, s->stream, s->correlation};
    return 0;
}

int put_event(struct build *b, const void *row)
{
    const struct row_event *v = row;
    struct event_record *event = vec_push(&b->events);
    struct refs *refs = event ? vec_push(&b->event_refs) : NULL;
    if (!refs)
        return -1;
    *event = (struct event_record){.api = TL_NONE, .event = v->event, .event_sync = v->event_sync};
    *refs = (struct refs){v->process, v->stream, v->correlation};
    return 0;
}

int put_range(struct build *b, const void *row)
{
    const struct row_range *r = row;
    int64_t end = r->end_ns;
    if (!clean_span(b, ROW_RANGE, r->start_ns, &end))
        return 0;
    if (is_os_call(b, r))
        return put_os_call(b, r, end);
    if (is_caller(b, r))
        return put_caller(b, r, end);
    struct range *range = vec_push(&b->ranges);
    struct refs *refs = range ? vec_push(&b->range_refs) : NULL;
    if (!refs)
        return -1;
    *range = (struct range){.start_ns = r->start_ns,
                            .end_ns = end,
                            .row = r->id,
                            .name = clean_name(b, r->name),
                            .domain = clean_name(b, r->domain),
                            .depth = clamp32(r->depth),
                            .shapes = clean_name(b, r->shapes)};
    *refs = (struct refs){r->process, r->thread, 0};
    return 0;
}

int put_call(struct build *b, const void *row)
{
    struct row_call r = *(const struct row_call *)row;
    if (!clean_span(b, ROW_CALL, r.start_ns, &r.end_ns))
        return 0;
    r.function = clean_name(b, r.function);
    struct call *call = vec_push(&b->calls);
    if (!call)
        return -1;
    call->row = r;
    return 0;
}

int put_loader(struct build *b, const void *row)
{
    struct row_loader r = *(const struct row_loader *)row;
    if (!clean_span(b, ROW_LOADER, r.start_ns, &r.end_ns))
        return 0;
    struct row_loader *p = vec_push(&b->loaders);
    if (p)
        *p = r;
    return p ? 0 : -1;
}

int put_overhead(struct build *b, const void *row)
{
    struct row_overhead r = *(const struct row_overhead *)row;
    if (!clean_span(b, ROW_OVERHEAD, r.start_ns, &r.end_ns))
        return 0;
    r.name = clean_name(b, r.name);
    struct row_overhead *p = vec_push(&b->overheads);
    if (p)
        *p = r;
    return p ? 0 : -1;
}

int put_collective(struct build *b, const void *row)
{
    struct row_collective r = *(const struct row_collective *)row;
    if (!clean_span(b, ROW_COLLECTIVE, r.start_ns, &r.end_ns))
        return 0;
    r.name = clean_name(b, r.name);
    r.group_name = clean_name(b, r.group_name);
    struct collective *p = vec_push(&b->collectives);
    if (p)
        *p = (struct collective){r, TL_NONE, TL_NONE};
    return p ? 0 : -1;
}

int put_recorded(struct build *b, const void *row)
{
    struct row_recorded r = *(const struct row_recorded *)row;
    if (!clean_span(b, ROW_RECORDED, r.start_ns, &r.end_ns))
        return 0;
    struct row_recorded *p = vec_push(&b->recorded);
    if (p)
        *p = r;
    return p ? 0 : -1;
}

int put_step_block(struct build *b, const void *row)
{
    struct row_step_block r = *(const struct row_step_block *)row;
    if (!clean_span(b, ROW_STEP_BLOCK, r.start_ns, &r.end_ns))
        return 0;
    struct row_step_block *p = vec_push(&b->step_blocks);
    if (p)
        *p = r;
    return p ? 0 : -1;
}
