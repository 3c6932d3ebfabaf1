/* Cases of the rule broadcast-buffers: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/buffers.h"
#include "tests/unit/rule_case.h"

static void fill_end(struct builder *b, int64_t at)
{
    compute(b, at, US(20), MS(9));
    send(b, broadcast, at + MS(9.65), US(60));
}

static void fill_weights(struct builder *b, int64_t at)
{
    send(b, broadcast, at + US(2), US(500));
    compute(b, at, US(610), MS(9.3));
}

static void fill_none(struct builder *b, int64_t at)
{
    compute(b, at, US(20), MS(9.3));
}

TEST(other_broadcasts)
{
    static case_fill *const fills[] = {fill_end, fill_weights, fill_none};
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        case_verdict(case_advice(fills[i]), id, RULE_SILENT);
    }
    case_cannot_tell(fill_start, "copies,api,ranges", id);
}

/* The same with the bytes of the broadcast. */
static void fill_masks(struct builder *b, int64_t at)
{
    struct row_collective c = {.id = ++b->next_id,
                               .process = 1,
                               .thread = 1,
                               .start_ns = at + US(6),
                               .end_ns = at + US(15),
                               .name = build_text(b, "ncclBroadcast"),
                               .kernel = -1,
                               .communicator = 77,
                               .bytes = 134000000,
                               .ranks = 2};
    fill_weights(b, at);
    build_put(b, ROW_COLLECTIVE, &c);
}

/* Buffers may be as large as the gradients: causal masks. DDP told of them. */
TEST(large_buffers)
{
    static const char *const bytes[] = {NULL, "134000000", "4000000"};
    for (int i = 0; i < 3; i++) {
        struct builder b = build_start();
        if (bytes[i])
            build_meta(&b, "torch.ddp.buffers", bytes[i]);
        build_meta(&b, "torch.ddp.where", "train.py:20");
        case_loop(&b, fill_masks);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, id, i == 1 ? RULE_FIRES : RULE_SILENT);
        if (i == 1)
            ck_assert_str_eq(case_outcome(a, id)->remedy.object.place, "train.py:20");
    }
}
