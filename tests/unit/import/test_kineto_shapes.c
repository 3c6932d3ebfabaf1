/* The shapes of an operator's inputs in a Kineto trace. */
#include "tests/unit/kineto_case.h"

/* The shapes of the range that one operator with these args makes. */
static const char *shapes_of(const char *args)
{
    static char out[512];
    struct memory *m = kineto("{'traceEvents': [{'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::cat', "
                              "'pid': 1, 'tid': 1, 'ts': 1, "
                              "'dur': 9, 'args': %s}, {'ph': 'X', 'cat': 'cpu_op', 'name': "
                              "'without', 'pid': 1, 'tid': 1, 'ts': 11, 'dur': 9, "
                              "'args': {'External id': 2}}]}",
                              args);
    ck_assert_int_eq(m->count[ROW_RANGE], 2);
    snprintf(out, sizeof out, "%s", memory_text(m, MEMORY_ROW(m, range, ROW_RANGE, 0)->shapes));
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, range, ROW_RANGE, 1)->shapes), "");
    return out;
}

static const struct {
    const char *args, *shapes;
} cases[] = {
    {"{'External id': 32,'Ev Idx': 31, 'Input Dims': [[1, 3, 1024, 1024], [1280, 3, 16, 16], "
     "[1280], [], []], 'Input type': ['float', 'float', 'float', 'ScalarList', "
     "'Scalar'], 'Concrete Inputs': ['', '', '', '[16, 16]', '1']}",
     "1 x 3 x 1024 x 1024 float, 1280 x 3 x 16 x 16 float, 1280 float"},
    /* types first, as some versions write them, and a type in a name space */
    {"{'Concrete Inputs': [''], 'Input type': ['c10::BFloat16', ''], 'Input Dims': "
     "[[8, 4], []], 'Ev Idx': 1}",
     "8 x 4 BFloat16"},
    /* a list of tensors, then one */
    {"{'Input Dims': [[[2, 3], [4]], [5]], 'Input type': ['TensorList', 'long int']}",
     "[2 x 3, 4], 5 long int"},
    {"{'Input Dims': [[7, 7]]}", "7 x 7"},
    /* a convolution's padding, stride and dilation; one list alone is not kept, nor what is no list of
     * numbers */
    {"{'Concrete Inputs': ['', '', '[3, 3]', '[2, 2]', '[1, 1]', '1', 'False'], 'Input Dims': "
     "[[8, 3, 9, 9], [4, 3, 7, 7], [], [], [], [], []], 'Input type': ['float', 'float', "
     "'ScalarList', 'ScalarList', 'ScalarList', 'Scalar', 'Scalar']}",
     "8 x 3 x 9 x 9 float, 4 x 3 x 7 x 7 float, [3, 3], [2, 2], [1, 1]"},
    {"{'Input Dims': [[8], [], [], []], 'Concrete Inputs': ['', '[1]', '[2, x]', '[3]']}", "8"},
    {"{'Input Dims': [[8], [], [], []], 'Concrete Inputs': [{}, [['[1]']], '[2]', '[3]', 5]}", "8"},
    {"{'Input Dims': [[], [[], []]], 'Input type': ['float', 'TensorList']}", ""},
    {"{}", ""},
    {"[]", ""},
    {"7", ""},
    /* not as any version writes it */
    {"{'Input Dims': {'a': [1]}, 'Input type': 5}", ""},
    {"{'Input Dims': [3, 'x', {'y': [2]}, null, [6]], 'Input type': [[1], {}, 2]}", "6"},
    {"{'x': {'Input Dims': [[9]]}, 'y': 'Input Dims'}", ""},
};

TEST_EACH(dims_and_types, 0, sizeof cases / sizeof *cases)
{
    ck_assert_str_eq(shapes_of(cases[_i].args), cases[_i].shapes);
}

/* Optimizers hand in hundreds of tensors at once. */
TEST(long_lists_are_cut)
{
    static char args[65536];
    size_t n = (size_t)snprintf(args, sizeof args, "{'Input Dims': [[4, 4]");
    for (int i = 0; i < 30; i++)
        n += (size_t)snprintf(args + n, sizeof args - n, ", [%d, 1000000, 1000000]", i);
    snprintf(args + n, sizeof args - n, "]}");
    const char *shapes = shapes_of(args);
    ck_assert_int_eq(strncmp(shapes, "4 x 4, 0 x 1000000 x 1000000, ", 30), 0);
    ck_assert_str_eq(shapes + strlen(shapes) - 5, ", ...");
    ck_assert_uint_lt(strlen(shapes), 180);
    n = (size_t)snprintf(args, sizeof args, "{'Input Dims': [[[64, 3, 7, 7]");
    for (int i = 0; i < 500; i++)
        n += (size_t)snprintf(args + n, sizeof args - n, ", [64, 3, 7, 7]");
    snprintf(args + n, sizeof args - n, "], [5]]}");
    ck_assert_str_eq(shapes_of(args),
                     "[64 x 3 x 7 x 7, 64 x 3 x 7 x 7, 64 x 3 x 7 x 7, 64 x 3 x 7 x 7, ...], 5");
}
