/* Decodes the text of one entry. Statements end with `;`, labels with `:`. Braces inside a
 * statement enclose a vector, elsewhere a scope, whose names count as the entry's own. */
#include "ptx/ptx_argument.h"
#include "ptx/ptx_bulk.h"
#include "ptx/ptx_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct ptx_kernel *k;
    struct names *names;
    struct ptx_places places;
    uint64_t shared; /* address of the next shared variable */
    bool failed;
};

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static const char *blanks(const char *s)
{
    for (;;) {
        while (isspace((unsigned char)*s))
            s++;
        if (s[0] != '/' || s[1] != '/')
            return s;
        s += strcspn(s, "\n");
    }
}

static int new_reg(struct reader *r)
{
    return r->k->reg_count++;
}

static int constant(struct reader *r, uint64_t value)
{
    struct ptx_kernel *k = r->k;
    for (int i = 0; i < k->constant_count; i++)
        if (k->constant[i].value == value)
            return k->constant[i].reg;
    if (k->constant_count == k->constant_room) {
        int room = k->constant_room ? k->constant_room * 2 : 64;
        void *grown = realloc(k->constant, (size_t)room * sizeof *k->constant);
        if (!grown) {
            r->failed = true;
            return 0;
        }
        k->constant = grown;
        k->constant_room = room;
    }
    k->constant[k->constant_count++].reg = new_reg(r);
    k->constant[k->constant_count - 1].value = value;
    return k->constant[k->constant_count - 1].reg;
}

static int special(struct reader *r, int which)
{
    if (r->k->special[which] < 0)
        r->k->special[which] = new_reg(r);
    return r->k->special[which];
}

/* Reads 12, 0x1F, 0f3F800000 (the bits of a float) or 0d3FF0000000000000. */
static int number(struct reader *r, const char *s)
{
    if (s[0] == '0' && strchr("fFdD", s[1]) && s[1])
        return constant(r, strtoull(s + 2, NULL, 16));
    return constant(r, *s == '-' ? (uint64_t)strtoll(s, NULL, 0) : strtoull(s, NULL, 0));
}

/* The register of an operand. */
static int operand(struct reader *r, const char *s, size_t n)
{
    if (isdigit((unsigned char)*s) || *s == '-')
        return number(r, s);
    if (n == 7 && memcmp(s, "WARP_SZ", 7) == 0)
        return constant(r, PTX_LANES);
    if (n == 1 && *s == '_') /* an unused result */
        return new_reg(r);
    int which = *s == '%' ? ptx_special_of(s, n) : -1;
    if (which >= 0)
        return special(r, which);
    struct name *known = names_get(r->names, s, n, true);
    if (!known) {
        r->failed = true;
        return 0;
    }
    if (known->reg < 0 && known->kind == NAME_PARAM) { /* it stands for the argument's address */
        known->reg = new_reg(r);
        r->failed |= !ptx_place_set(&r->places, known->reg, (int)known->value, 0);
    } else if (known->reg < 0) {
        known->reg = known->kind == NAME_REG ? new_reg(r) : constant(r, known->value);
    }
    return known->reg;
}

/* Reads [%rd1+16], [name+4] or [name]. */
static const char *address(struct reader *r, struct ptx_inst *i, const char *s)
{
    const char *from = s = blanks(s + 1);
    while (word_char(*s))
        s++;
    size_t n = (size_t)(s - from);
    s = blanks(s);
    i->offset = *s == '+' ? strtoll(s + 1, NULL, 0) : 0;
    struct name *known = names_get(r->names, from, n, false);
    struct ptx_place place = known && known->kind == NAME_PARAM
                                 ? (struct ptx_place){(int)known->value, 0}
                                 : ptx_place_of(&r->places, known ? known->reg : -1);
    if (i->op == OP_LOAD && (i->space == S_PARAM || (i->space == S_GENERIC && place.param >= 0)))
        ptx_from_argument(r->k, i, place);
    else if (i->space == S_PARAM)
        i->op = OP_NOTHING;                      /* the argument of a call */
    else if (i->address < 0 || i->op == OP_COPY) /* for a copy to shared memory: the source */
        i->address = operand(r, from, n);
    s += strcspn(s, "];");
    return *s == ']' ? s + 1 : s;
}

static bool writes(const struct ptx_inst *i)
{
    return i->op != OP_STORE && i->op != OP_BRANCH && i->op != OP_BARRIER && i->op != OP_EXIT &&
           i->op != OP_COPY && i->op != OP_BULK;
}

static bool is_constant(const struct ptx_kernel *k, int reg)
{
    for (int i = 0; i < k->constant_count; i++)
        if (k->constant[i].reg == reg)
            return true;
    return false;
}

/* The first operand is the result, unless it is a number: `setmaxnreg.inc.sync.aligned.u32 232`. */
static void add_operand(struct reader *r, struct ptx_inst *i, const char *s, size_t n, int position,
                        bool negated)
{
    int reg = operand(r, s, n);
    bool out = position == 0 && writes(i) && !is_constant(r->k, reg);
    if (out && i->outs < 8)
        i->out[i->outs++] = reg;
    else if (!out && i->ins < PTX_OPERANDS)
        i->in[i->ins++] = reg;
    if (negated)
        i->combine_not = true;
}

/* Reads operands up to the `;`. Vectors and `p|q` count as one position. */
static const char *operands(struct reader *r, struct ptx_inst *i, const char *s)
{
    int position = 0;
    bool negated = false, vector = false;
    while (*s && *s != ';') {
        if (*s == '[' && i->op != OP_BULK) {
            s = address(r, i, s);
        } else if (word_char(*s) || *s == '-') {
            const char *from = s++;
            while (word_char(*s))
                s++;
            add_operand(r, i, from, (size_t)(s - from), position, negated);
        } else {
            position += *s == ',' && !vector;
            vector = *s == '{' || (vector && *s != '}');
            negated = *s == '!';
            s++;
        }
        s = blanks(s);
    }
    return s;
}

static struct ptx_inst *new_inst(struct reader *r)
{
    struct ptx_kernel *k = r->k;
    if (k->inst_count == k->inst_room) {
        int room = k->inst_room ? k->inst_room * 2 : 256;
        void *grown = realloc(k->inst, (size_t)room * sizeof *k->inst);
        if (!grown) {
            r->failed = true;
            return NULL;
        }
        k->inst = grown;
        k->inst_room = room;
    }
    struct ptx_inst *i = &k->inst[k->inst_count++];
    *i = (struct ptx_inst){.guard = -1, .address = -1, .target = -1};
    return i;
}

static const char *word_end(const char *s)
{
    while (word_char(*s))
        s++;
    return s;
}

/* Sets the target: the index of the label's name, until all labels are known. */
static void branch_target(struct reader *r, struct ptx_inst *i, const char *s)
{
    struct name *label = names_get(r->names, s, (size_t)(word_end(s) - s), true);
    if (label)
        i->target = (int)(label - r->names->name);
    else
        r->failed = true;
}

static void opcode(struct ptx_inst *i, const char *s, size_t n)
{
    int seen = 0;
    size_t at = strcspn(s, ". \t\n;");
    i->op = (uint8_t)ptx_op_of(s, at < n ? at : n);
    if (i->op == OP_MATRIX)
        i->matrix_flops = ptx_matrix_flops(s, n);
    if (i->op == OP_COPY)
        ptx_bulk_opcode(i, s, n);
    while (at < n) {
        size_t from = ++at;
        while (at < n && s[at] != '.')
            at++;
        size_t length = at - from;
        const char *colon = memchr(s + from, ':', length); /* as in shared::cta */
        ptx_suffix(i, s + from, colon ? (size_t)(colon - s) - from : length, &seen);
    }
}

static const char *instruction(struct reader *r, const char *s)
{
    struct ptx_inst *i = new_inst(r);
    if (!i)
        return s + strlen(s);
    if (*s == '@') {
        i->guard_not = s[1] == '!';
        const char *from = blanks(s + 1 + i->guard_not);
        s = word_end(from);
        i->guard = operand(r, from, (size_t)(s - from));
        s = blanks(s);
    }
    size_t n = strcspn(s, " \t\n;");
    opcode(i, s, n);
    s = blanks(s + n);
    if (i->op == OP_BRANCH)
        branch_target(r, i, s);
    else if (i->op != OP_CALL && i->op != OP_NOTHING)
        s = operands(r, i, s);
    if (i->op == OP_BULK)
        ptx_bulk_map(r->k, i, &r->places);
    r->failed |= !ptx_place_follow(&r->places, r->k, i);
    s += strcspn(s, ";");
    return *s ? s + 1 : s;
}

/* Reads .shared .align 4 .b8 name[4096]; .reg .pred p; .loc 1 2 3. */
static const char *directive(struct reader *r, const char *s)
{
    bool shared = strncmp(s, ".shared", 7) == 0, reg = strncmp(s, ".reg", 4) == 0;
    if (strncmp(s, ".loc", 4) == 0 && s[4] != 'a')
        return s + strcspn(s, "\n");
    const char *end = s + strcspn(s, ";");
    for (const char *at = s; (shared || reg) && at < end; at = blanks(at)) {
        const char *from = at;
        if (!word_char(*at) || isdigit((unsigned char)*at) || *at == '.') {
            at = word_char(*at) ? word_end(at) : at + 1;
            continue;
        }
        at = word_end(at);
        struct name *x = names_get(r->names, from, (size_t)(at - from), true);
        if (!x)
            r->failed = true;
        if (!x || reg) {
            if (x)
                x->kind = NAME_REG;
            continue;
        }
        size_t bytes = *at == '[' ? strtoull(at + 1, NULL, 0) : 8;
        x->kind = NAME_SHARED;
        x->value = r->shared;
        r->shared += (bytes + 15) / 16 * 16;
    }
    return *end ? end + 1 : end;
}

enum { SCOPES = 16 };

static void body(struct reader *r, const char *s)
{
    int depth = 0, from[SCOPES] = {0};
    do {
        s = blanks(s);
        const char *after = blanks(word_end(s));
        if (*s == '{') {
            from[depth < SCOPES ? depth : SCOPES - 1] = r->k->inst_count;
            depth++;
            s++;
        } else if (*s == '}') {
            depth--;
            if (depth > 0 && depth < SCOPES)
                ptx_labels_end_scope(r->k, r->names, from[depth]);
            s++;
        } else if (*s == '.') {
            s = directive(r, s);
        } else if (word_char(*s) && after[0] == ':' && after[1] != ':') {
            struct name *label = names_get(r->names, s, (size_t)(word_end(s) - s), true);
            if (label) {
                label->kind = NAME_LABEL;
                label->value = (uint64_t)r->k->inst_count;
            }
            s = after + 1;
        } else if (*s == ';') {
            s++;
        } else if (*s) {
            s = instruction(r, s);
        }
    } while (*s && depth > 0 && !r->failed);
}

/* Reads (.param .u64 name, .param .align 8 .b8 name[40]): the last word of each is its name. */
static const char *arguments(struct reader *r, const char *s)
{
    const char *from = NULL, *to = NULL;
    struct ptx_declared d = {0};
    for (s = blanks(s); *s && *s != ')' && *s != '{'; s = blanks(s)) {
        const char *start = s;
        s = word_char(*s) ? word_end(s) : s + 1;
        ptx_declares(&d, start, s);
        if (word_char(*start) && *start != '.' && !isdigit((unsigned char)*start)) {
            from = start;
            to = s;
        }
        bool last = *blanks(s) == ',' || *blanks(s) == ')';
        struct name *x = last && from ? names_get(r->names, from, (size_t)(to - from), true) : NULL;
        if (x) {
            ptx_argument_placed(r->k, &d);
            x->kind = NAME_PARAM;
            x->value = (uint64_t)r->k->param_count++;
            from = NULL;
        }
    }
    return s;
}

/* Finds an entry, and returns the text behind its name. A declaration, which has no body, does not
 * count. */
static const char *find_entry(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = strstr(text, ".entry"); s; s = strstr(s, ".entry")) {
        s = blanks(s + strlen(".entry"));
        size_t head = strncmp(s, name, n) == 0 && !word_char(s[n]) ? strcspn(s, "{;") : 0;
        if (head && s[head] == '{')
            return s + n;
    }
    return NULL;
}

struct ptx_kernel *ptx_read(const char *text, const char *name)
{
    struct names names = {0};
    struct reader r = {.k = calloc(1, sizeof *r.k), .names = &names};
    const char *s = find_entry(text, name);
    if (!r.k || !s) {
        free(r.k);
        return NULL;
    }
    for (int i = 0; i < SR_COUNT; i++)
        r.k->special[i] = -1;
    if (*blanks(s) == '(')
        s = arguments(&r, blanks(s) + 1);
    s += strcspn(s, "{;");
    if (*s == '{')
        body(&r, s);
    r.failed = r.failed || !ptx_labels_resolve(r.k, &names);
    r.k->smem_static = (unsigned)r.shared;
    names_free(&names);
    free(r.places.at);
    if (r.failed || r.k->inst_count == 0) {
        ptx_free(r.k);
        return NULL;
    }
    ptx_find_steering(r.k);
    return r.k;
}

void ptx_free(struct ptx_kernel *k)
{
    if (!k)
        return;
    free(k->inst);
    free(k->constant);
    free(k);
}
