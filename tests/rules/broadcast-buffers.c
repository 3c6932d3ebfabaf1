/* When broadcast-buffers fires, when it stays silent or is refused, when it cannot tell. */
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
        struct builder b = build_start();
        case_loop(&b, fills[i]);
        case_verdict(build_analyze(&b), id, RULE_SILENT);
        build_end(&b);
    }
    case_cannot_tell(fill_start, "copies,api,ranges", id);
}
