/* The inputs of an operator, as PyTorch's profiler records them with record_shapes=True:
 *
 *   "Input Dims": [[64, 3, 224, 224], [64, 3, 7, 7], []]
 *   "Input type": ["float", "float", "Scalar"]
 *
 *   "Concrete Inputs": ["", "", "[2, 2]", "[3, 3]", "[1, 1]", "1"]
 *
 * A list of tensors is nested one level deeper. Of the values only lists of numbers are kept, and only
 * of operators with several of them: convolutions and pooling, of which they are stride, padding and
 * dilation. Cost: 15 ns per number. */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"

#include <string.h>

enum {
    SHOWN = 160, /* most bytes of a text; with more inputs it ends in "..." */
    LISTED = 48, /* most bytes of a list of tensors */
    VALUES = 24, /* most bytes of a list of numbers */
    LISTS = 3    /* fewer lists of numbers are not kept */
};

static void put(struct kineto_shapes *s, const char *text, size_t n)
{
    if (n > sizeof s->text - s->used)
        n = sizeof s->text - s->used;
    memcpy(s->text + s->used, text, n);
    s->used += n;
}

/* Reads the dims of one input, whose '[' was just returned: "64 x 3"; for a list "[64 x 3, 5]". */
static int read_dims(struct kineto *k, struct kineto_shapes *s)
{
    int depth = 1;
    size_t from = s->used;
    bool first = true, list = false, any = false, cut = false;
    while (depth > 0) {
        enum json_token t = json_next(&k->json);
        if (t == JSON_ERROR)
            return -1;
        if (t == JSON_OBJECT && json_skip_rest(&k->json) < 0)
            return -1;
        if (t == JSON_ARRAY) {
            bool full = s->used - from > LISTED;
            if (!cut)
                put(s, full ? ", ..." : list ? ", " : "[", full ? 5 : list ? 2 : 1);
            cut |= full;
            list = first = true;
            depth++;
        } else if (t == JSON_ARRAY_END) {
            depth--;
        } else if (t == JSON_NUMBER && !cut) {
            put(s, " x ", first ? 0 : 3);
            put(s, k->json.text, k->json.length);
            first = false;
            any = true;
        }
    }
    put(s, "]", list);
    s->used = any ? s->used : from;
    return 0;
}

/* Reads the elements of the next array, one per input: dims, or types. */
static int read_inputs(struct kineto *k, bool dims)
{
    struct kineto_shapes *s = &k->shapes;
    enum json_token t = json_next(&k->json);
    if (t == JSON_OBJECT)
        return json_skip_rest(&k->json);
    if (t != JSON_ARRAY)
        return t == JSON_ERROR ? -1 : 0;
    for (int i = 0; (t = json_next(&k->json)) != JSON_ARRAY_END; i++) {
        if (t == JSON_ERROR)
            return -1;
        bool keep = i < KINETO_INPUTS;
        size_t from = s->used;
        if (t == JSON_OBJECT || (t == JSON_ARRAY && !(dims && keep))) {
            if (json_skip_rest(&k->json) < 0)
                return -1;
        } else if (t == JSON_ARRAY && read_dims(k, s) < 0) {
            return -1;
        }
        if (keep && dims) {
            s->input[i].from = (uint16_t)from;
            s->input[i].to = (uint16_t)s->used;
            s->inputs = i + 1;
        } else if (keep) {
            size_t n = t == JSON_STRING ? k->json.length : 0, most = sizeof s->input[i].type - 1;
            const char *text = k->json.text;
            if (n > 5 && memcmp(text, "c10::", 5) == 0) {
                text += 5;
                n -= 5;
            }
            n = n < most ? n : most;
            memcpy(s->input[i].type, text, n);
            s->input[i].type[n] = 0;
            s->types = i + 1;
        }
    }
    return 0;
}

/* Keeps the lists of numbers among the values. */
static int read_values(struct kineto *k)
{
    struct kineto_shapes *s = &k->shapes;
    enum json_token t = json_next(&k->json);
    if (t == JSON_OBJECT)
        return json_skip_rest(&k->json);
    if (t != JSON_ARRAY)
        return t == JSON_ERROR ? -1 : 0;
    for (int i = 0; (t = json_next(&k->json)) != JSON_ARRAY_END; i++) {
        if (t == JSON_ERROR ||
            ((t == JSON_OBJECT || t == JSON_ARRAY) && json_skip_rest(&k->json) < 0))
            return -1;
        if (i >= KINETO_INPUTS)
            continue;
        const char *text = k->json.text;
        size_t n = t == JSON_STRING ? k->json.length : 0;
        bool list =
            n >= 3 && n <= VALUES && *text == '[' && strspn(text + 1, "0123456789, ") == n - 2;
        s->input[i].list_from = (uint16_t)s->used;
        if (list && s->used + n < sizeof s->text) {
            put(s, text, n);
            s->lists++;
        }
        s->input[i].list_to = (uint16_t)s->used;
        s->values = i + 1;
    }
    return 0;
}

void kineto_shapes_words(struct kineto *k)
{
    static const struct word keys[] = {
        WORD("Input Dims", 0), WORD("Input type", 0),      WORD("Input dims", 0),
        WORD("Input Type", 0), WORD("Sequence number", 0), WORD("Concrete Inputs", 0),
    };
    words_index(&k->words.inputs, keys, sizeof keys / sizeof *keys);
}

/* Reads the sequence number of the operator or its backward node in the graph. */
static int read_sequence(struct kineto *k, struct kineto_event *v)
{
    enum json_token t = json_next(&k->json);
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(&k->json);
    if (t == JSON_NUMBER && !json_int64(k->json.text, k->json.length, &v->sequence))
        v->sequence = -1;
    return t == JSON_ERROR ? -1 : 0;
}

int kineto_shapes_read(struct kineto *k, struct kineto_event *v)
{
    enum json_token t = json_next(&k->json);
    if (t != JSON_OBJECT)
        return t == JSON_ERROR ? -1 : t == JSON_ARRAY ? json_skip_rest(&k->json) : 0;
    while ((t = json_next_of(&k->json, &k->words.inputs)) == JSON_KEY) {
        char first = *k->json.text, kind = k->json.text[6]; /* 'D' or 'T', in either case */
        int rc = first == 'S'   ? read_sequence(k, v)
                 : first == 'C' ? read_values(k)
                                : read_inputs(k, kind == 'D' || kind == 'd');
        if (rc < 0)
            return -1;
    }
    return t == JSON_OBJECT_END ? 0 : -1;
}

/* Adds ", " and one more input to the n bytes of `out`. */
static size_t add(char *out, size_t n, const char *text, size_t length, const char *type)
{
    size_t word = strlen(type);
    memcpy(out + n, ", ", n ? 2 : 0);
    n += n ? 2 : 0;
    memcpy(out + n, text, length);
    n += length;
    if (word) {
        out[n++] = ' ';
        memcpy(out + n, type, word);
        n += word;
    }
    return n;
}

uint32_t kineto_shapes(struct kineto *k)
{
    const struct kineto_shapes *s = &k->shapes;
    char out[SHOWN + 8];
    size_t n = 0;
    for (int i = 0; i < s->inputs; i++) {
        size_t dims = (size_t)(s->input[i].to - s->input[i].from);
        bool listed = !dims && i < s->values && s->lists >= LISTS;
        size_t from = listed ? s->input[i].list_from : s->input[i].from;
        size_t length = listed ? s->input[i].list_to - from : dims;
        const char *type = i < s->types && s->text[from] != '[' ? s->input[i].type : "";
        if (length == 0)
            continue;
        if (n + length + strlen(type) + 3 > SHOWN || from + length == sizeof s->text) {
            memcpy(out + n, n ? ", ..." : "...", n ? 5 : 3);
            n += n ? 5 : 3;
            break;
        }
        n = add(out, n, s->text + from, length, type);
    }
    return n ? k->out->intern(k->out->self, out, n) : 0;
}
