/* Streams, events and the capture of streams into graphs: the calls that the runtime and the driver
 * have in common (calls.h explains the rows). Each of the two shims includes this file once. */

static int new_stream(struct vg_api *api, call_stream *out, unsigned flags, int priority)
{
    api->host_ns = (int64_t)here()->stream_create_ns;
    return vg_stream_create((struct vg_stream **)out, flags, priority);
}

static int new_event(struct vg_api *api, call_event *out, unsigned flags)
{
    api->host_ns = (int64_t)here()->event_create_ns;
    return vg_event_create((struct vg_event **)out, flags);
}

static int on_event(call_event event, int (*act)(struct vg_event *))
{
    int bad = vg_event_check((struct vg_event *)event);
    return bad ? bad : act((struct vg_event *)event);
}

static int record(struct vg_stream *s, call_event event)
{
    int bad = vg_event_check((struct vg_event *)event);
    return bad ? bad : vg_event_record((struct vg_event *)event, s);
}

static int wait_for(struct vg_stream *s, call_event event)
{
    int bad = vg_event_check((struct vg_event *)event);
    return bad ? bad : vg_stream_wait(s, (struct vg_event *)event);
}

static int elapsed(float *ms, call_event first, call_event last)
{
    const unsigned without_times = 2; /* cudaEventDisableTiming, CU_EVENT_DISABLE_TIMING */
    struct vg_event *a = (struct vg_event *)first, *b = (struct vg_event *)last;
    if (vg_event_check(a) || vg_event_check(b) || !a->recorded || !b->recorded ||
        ((a->flags | b->flags) & without_times))
        return VG_INVALID_HANDLE;
    if (vg_event_query(a) || vg_event_query(b))
        return VG_NOT_READY;
    *ms = (float)((double)(b->time_ns - a->time_ns) / 1e6);
    return VG_OK;
}

struct callback {
    call_callback call;
    call_stream stream;
    void *user;
};

static void run_callback(void *arg)
{
    struct callback c = *(struct callback *)arg;
    free(arg);
    c.call(c.stream, 0, c.user);
}

static int add_callback(struct vg_stream *s, struct callback what, unsigned flags)
{
    const int capture_unsupported = 900;
    if (!what.call || flags)
        return VG_INVALID_VALUE;
    if (s->capture)
        return capture_unsupported;
    struct callback *c = malloc(sizeof *c);
    if (!c)
        return VG_NO_MEMORY;
    *c = what;
    int bad = vg_host_function(s, run_callback, c);
    if (bad)
        free(c);
    return bad;
}

BOTH(StreamCreateWithPriority, v5050, , (call_stream * out, unsigned flags, int priority),
     new_stream(&api, out, flags, priority))
BOTH_ON(StreamDestroy, v5050, _v2, (call_stream stream), stream, vg_stream_destroy(s))
BOTH_TWICE(StreamSynchronize, v3020, v7000, , (call_stream stream), stream, vg_stream_sync(s))
BOTH_TWICE(StreamQuery, v3020, v7000, , (call_stream stream), stream, vg_stream_query(s))
BOTH_TWICE(StreamWaitEvent, v3020, v7000, ,
           (call_stream stream, call_event event, unsigned flags UNUSED), stream,
           wait_for(s, event))
BOTH_TWICE(StreamGetFlags, v5050, v7000, , (call_stream stream, unsigned *flags), stream,
           (*flags = s->flags, VG_OK))
BOTH_TWICE(StreamGetPriority, v5050, v7000, , (call_stream stream, int *priority), stream,
           (*priority = s->priority, VG_OK))
BOTH_TWICE(StreamGetId, v12000, v12000, , (call_stream stream, unsigned long long *id), stream,
           (*id = s->id, VG_OK))
BOTH_TWICE(StreamAddCallback, v5000, v7000, ,
           (call_stream stream, call_callback call, void *user, unsigned flags), stream,
           add_callback(s, (struct callback){call, stream, user}, flags))
BOTH_TWICE(LaunchHostFunc, v10000, v10000, , (call_stream stream, void (*fn)(void *), void *arg),
           stream, (api.host_ns = (int64_t)here()->launch_host_ns, vg_host_function(s, fn, arg)))

BOTH(EventDestroy, v3020, _v2, (call_event event), on_event(event, vg_event_destroy))
BOTH_TWICE(EventRecord, v3020, v7000, , (call_event event, call_stream stream), stream,
           record(s, event))
BOTH(EventQuery, v3020, , (call_event event), on_event(event, vg_event_query))
BOTH(EventSynchronize, v3020, , (call_event event), on_event(event, vg_event_sync))
BOTH(EventElapsedTime, v3020, _v2, (float *ms, call_event first, call_event last),
     elapsed(ms, first, last))

/* ---- capture ---- */

static call_status status_of(const struct vg_stream *s)
{
    enum { NONE, ACTIVE, INVALIDATED }; /* the same numbers in both enumerations */
    return (call_status)(!s->capture ? NONE : s->capture->invalid ? INVALIDATED : ACTIVE);
}

static int capture_into(struct vg_stream *s, call_mode mode, call_graph graph,
                        const call_node *deps, size_t n)
{
    struct vg_graph *g = graph_of(graph);
    return g ? vg_capture_begin(s, (int)mode, g, (struct vg_node *const *)deps, n)
             : VG_INVALID_VALUE;
}

static int capture_info(const struct vg_stream *s, call_status *status, call_id *id,
                        call_graph *graph, const call_node **deps, const call_edge **edges,
                        size_t *count)
{
    if (status)
        *status = status_of(s);
    if (id)
        *id = s->capture ? s->capture->id : 0;
    if (graph)
        *graph = (call_graph)s->capture;
    if (deps)
        *deps = (const call_node *)s->frontier;
    if (edges)
        *edges = NULL;
    if (count)
        *count = s->frontier_n;
    return VG_OK;
}

BOTH_TWICE(StreamBeginCapture, v10000, v10000, _v2, (call_stream stream, call_mode mode), stream,
           vg_capture_begin(s, (int)mode, NULL, NULL, 0))
BOTH_TWICE(StreamBeginCaptureToGraph, v12030, v12030, ,
           (call_stream stream, call_graph graph, const call_node *deps,
            const call_edge *edges UNUSED, size_t n, call_mode mode),
           stream, capture_into(s, mode, graph, deps, n))
BOTH_TWICE(StreamEndCapture, v10000, v10000, , (call_stream stream, call_graph *graph), stream,
           vg_capture_end(s, (struct vg_graph **)graph))
BOTH_TWICE(StreamIsCapturing, v10000, v10000, , (call_stream stream, call_status *status), stream,
           (*status = status_of(s), VG_OK))
BOTH_TWICE(StreamGetCaptureInfo, v12030, v12030, _v3,
           (call_stream stream, call_status *status, call_id *id, call_graph *graph,
            const call_node **deps, const call_edge **edges, size_t *count),
           stream, capture_info(s, status, id, graph, deps, edges, count))
BOTH_TWICE(StreamUpdateCaptureDependencies, v12030, v12030, _v2,
           (call_stream stream, call_node *deps, const call_edge *edges UNUSED, size_t n,
            unsigned flags),
           stream, vg_capture_depend(s, (struct vg_node *const *)deps, n, flags == 0))
BOTH(ThreadExchangeStreamCaptureMode, v10010, , (call_mode * mode),
     (*mode = (call_mode)vg_capture_thread_mode((int)*mode), VG_OK))
