/* Compares what two runs compute, by the recorded command: program, batch, precision, shapes,
 * ranks. Options that set how it is computed (workers, pinned memory, an optimizer's form) do not
 * count, because they are what one wants to compare. */
#include "analyzer/compare/work.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

static const char *const batch_options[] = {"batch",
                                            "batch-size",
                                            "bs",
                                            "per-device-train-batch-size",
                                            "micro-batch-size",
                                            "train-batch-size",
                                            "b",
                                            NULL};

/* Options that set what is computed; each row has the names that programs use for one option. */
static const char *const work_options[][6] = {
    {"precision", "dtype", "mixed-precision", "amp-dtype", NULL},
    {"fp16", NULL},
    {"bf16", NULL},
    {"amp", NULL},
    {"image", "image-size", "img-size", "resolution", NULL},
    {"seq", "seq-len", "seq-length", "sequence-length", "block-size", "max-seq-length"},
    {"model", "arch", "model-name", "model-name-or-path", NULL},
    {"depth", "layers", "num-layers", "n-layer", NULL},
    {"hidden", "hidden-size", "width", "n-embd", "channels", NULL},
    {"gradient-accumulation-steps", "accumulate", "grad-accum", NULL},
    {"ranks", "nproc-per-node", "nproc_per_node", NULL},
};
enum { WORK_OPTIONS = sizeof work_options / sizeof *work_options, MOST_NAMES = 6 };

struct value {
    const char *at; /* NULL: the option is missing */
    size_t n;       /* 0: the option has no value */
};

static bool same_name(const char *word, size_t n, const char *name)
{
    if (strlen(name) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((word[i] == '_' ? '-' : word[i]) != (name[i] == '_' ? '-' : name[i]))
            return false;
    return true;
}

/* Returns the value of an option given as "--name value", "--name=value" or "-b value"; the last
 * one counts. */
static struct value option(const char *command, const char *const *names, size_t most)
{
    struct value found = {0};
    for (const char *p = command; p && *p;) {
        p += strspn(p, " ");
        size_t n = strcspn(p, " "), dashes = strspn(p, "-"), name;
        const char *next = p + n + strspn(p + n, " ");
        name = n > dashes ? strcspn(p + dashes, "= ") : 0;
        for (size_t i = 0; dashes && name && i < most && names[i]; i++)
            if (same_name(p + dashes, name, names[i]) && (dashes == 2) == (names[i][1] != 0)) {
                const char *value = p[dashes + name] == '=' ? p + dashes + name + 1 : next;
                found = (struct value){value, *value == '-' ? 0 : strcspn(value, " ")};
            }
        p = next;
    }
    return found;
}

static bool same(struct value a, struct value b)
{
    return (a.at != NULL) == (b.at != NULL) && a.n == b.n &&
           (!a.at || memcmp(a.at, b.at, a.n) == 0);
}

static const char *command_of(const struct advice *a)
{
    const char *command = timeline_meta(a->facts->tl, "command");
    return command ? command : "";
}

int64_t work_batch(const struct advice *a)
{
    const char *loader = timeline_meta(a->facts->tl, FACT_TORCH_LOADER);
    const char *size = loader ? strstr(loader, "batch_size=") : NULL;
    if (size && atoll(size + strlen("batch_size=")) > 0)
        return atoll(size + strlen("batch_size="));
    struct value v = option(command_of(a), batch_options, 8);
    return v.at && v.n && atoll(v.at) > 0 ? atoll(v.at) : 0;
}

/* Returns the program's name: for "python -u dir/train.py --epochs 1" it is train.py. */
static struct value program(const char *command)
{
    struct value v = {command, strcspn(command, " ")};
    for (int words = 0; words < 8; words++) {
        const char *end = v.at + v.n, *base = end;
        while (base > v.at && base[-1] != '/')
            base--;
        v = (struct value){base, (size_t)(end - base)};
        bool through =
            strncmp(base, "python", 6) == 0 || strncmp(base, "torchrun", 8) == 0 || *base == '-';
        const char *next = end + strspn(end, " ");
        if (!through || !*next)
            break;
        v = (struct value){next, strcspn(next, " ")};
    }
    return v;
}

const char *work_program(const struct advice *a, char *buffer, size_t size)
{
    struct value v = program(command_of(a));
    size_t n = v.n < size - 1 ? v.n : size - 1;
    memcpy(buffer, v.at, n);
    buffer[n] = 0;
    return buffer;
}

static int64_t ranks(const struct advice *a)
{
    const struct timeline *t = a->facts->tl;
    int64_t most = 0;
    for (size_t i = 0; i < t->process_count; i++)
        most = t->processes[i].world_size > most ? t->processes[i].world_size : most;
    return most > (int64_t)a->facts->ranks.count ? most : (int64_t)a->facts->ranks.count;
}

static const char *shown(struct arena *arena, struct value v)
{
    return !v.at ? "not given" : !v.n ? "given" : arena_printf(arena, "%.*s", (int)v.n, v.at);
}

const char *work_differs(struct arena *arena, const struct advice *base, const struct advice *now,
                         bool per_sample)
{
    const char *one = command_of(base), *other = command_of(now);
    struct value p = program(one), q = program(other);
    int64_t b = work_batch(base), n = work_batch(now);
    if (p.n && q.n && !same(p, q))
        return arena_printf(arena, "they are different programs (%s; %s)", shown(arena, p),
                            shown(arena, q));
    if (ranks(base) && ranks(now) && ranks(base) != ranks(now))
        return arena_printf(arena, "they ran with %lld and %lld ranks", (long long)ranks(base),
                            (long long)ranks(now));
    if (b && n && b != n && !per_sample)
        return arena_printf(
            arena,
            "their batches have %lld and %lld samples; --per sample compares the time of one",
            (long long)b, (long long)n);
    if (per_sample && (!b || !n))
        return "the batch size of at least one of them is unknown";
    struct value c = option(one, batch_options, 8), d = option(other, batch_options, 8);
    if ((!b || !n) && *one && *other && !same(c, d))
        return arena_printf(arena, "their batches may differ: %s and %s", shown(arena, c),
                            shown(arena, d));
    for (size_t i = 0; i < WORK_OPTIONS && *one && *other; i++) {
        struct value x = option(one, work_options[i], MOST_NAMES),
                     y = option(other, work_options[i], MOST_NAMES);
        if (!same(x, y))
            return arena_printf(arena, "they compute different things: %s is %s and %s",
                                work_options[i][0], shown(arena, x), shown(arena, y));
    }
    return NULL;
}

/* Removes the folders: where a program lies does not matter. */
static struct value base_name(struct value v)
{
    for (size_t i = v.n; i > 0; i--)
        if (v.at[i - 1] == '/')
            return (struct value){v.at + i, v.n - i};
    return v;
}

static bool has_word(const char *command, struct value word)
{
    for (const char *p = command + strspn(command, " "); *p;) {
        size_t n = strcspn(p, " ");
        if (same(base_name(word), base_name((struct value){p, n})))
            return true;
        p += n + strspn(p + n, " ");
    }
    return false;
}

/* Returns the words of `command` that `other` lacks, a value together with its option, or "" if
 * there are none. */
static const char *only_in(struct arena *arena, const char *command, const char *other)
{
    enum { MOST = 4 };
    const char *text = "", *before = NULL; /* an option that is not in the text yet */
    int shown_words = 0;
    for (const char *p = command + strspn(command, " "); *p && text;) {
        size_t n = strcspn(p, " ");
        bool both = has_word(other, (struct value){p, n});
        if (!both && shown_words++ < MOST) {
            const char *from = before && *p != '-' ? before : p;
            text =
                arena_printf(arena, "%s%s%.*s", text, *text ? " " : "", (int)(p + n - from), from);
        }
        before = both && *p == '-' ? p : NULL;
        p += n + strspn(p + n, " ");
    }
    return text && shown_words > MOST ? arena_printf(arena, "%s ...", text) : text;
}

const char *work_commands_differ(struct arena *arena, const struct advice *base,
                                 const struct advice *now)
{
    const char *one = command_of(base), *other = command_of(now);
    if (!*one || !*other)
        return NULL;
    const char *was = only_in(arena, one, other), *is = only_in(arena, other, one);
    if (!was || !is || (!*was && !*is))
        return NULL;
    return arena_printf(arena, "%s%s%s%s%s", was, *was ? " in the baseline" : "",
                        *was && *is ? ", " : "", is, *is ? " now" : "");
}

static int64_t kernels_of(const struct totals *t)
{
    int64_t n = 0;
    for (size_t i = 0; i < t->kernel_count; i++)
        n += t->kernels[i].count;
    return n;
}

static int64_t copies_of(const struct totals *t)
{
    int64_t n = 0;
    for (size_t i = 0; i < t->copy_count; i++)
        n += t->copies[i].count;
    return n;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t count_named(const struct advice *a, const char *name, uint8_t family)
{
    const struct totals *t = &a->facts->totals;
    for (size_t i = 0; i < t->kernel_count; i++)
        if (t->kernels[i].class.family == family &&
            strcmp(tl_text(a->facts->tl, t->kernels[i].name), name) == 0)
            return t->kernels[i].count;
    return 0;
}

bool work_of_windows_differs(const struct advice *base, const struct advice *now)
{
    const struct totals *b = &base->facts->totals, *n = &now->facts->totals;
    int64_t shared = smaller(copies_of(b), copies_of(n));
    for (size_t i = 0; i < b->kernel_count; i++)
        shared += smaller(b->kernels[i].count,
                          count_named(now, tl_text(base->facts->tl, b->kernels[i].name),
                                      b->kernels[i].class.family));
    int64_t most = kernels_of(b) + copies_of(b), other = kernels_of(n) + copies_of(n);
    most = other > most ? other : most;
    return shared * 10 < most * 9;
}
