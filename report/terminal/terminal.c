/* Writes text for a terminal: colours and wrapped lines, without anything on which a terminal would
 * act (terminal.h). */
#include "report/terminal/terminal.h"

#include "report/chars.h"

#include <string.h>

struct terminal terminal_open(FILE *f, int width, bool color)
{
    return (struct terminal){.f = f, .width = width < 40 ? 80 : width, .color = color};
}

void term_ink(const struct terminal *t, enum ink ink)
{
    static const char *const codes[] = {"\033[0m",  "\033[1m",  "\033[2m",
                                        "\033[32m", "\033[33m", "\033[31m"};
    if (t->color)
        fputs(codes[ink], t->f);
}

/* True if a CI runner would read a command at s[i]. Runners look for commands in what a job prints:
 * GitHub at the start of a line, where wrapping may put a name; Azure's agents and older ones of
 * GitHub anywhere. */
static bool starts_command(const char *s, size_t n, size_t i)
{
    if (text_commands(s + i, n - i))
        return true;
    return n - i > 2 && s[i] == ':' && s[i + 1] == ':' && (i == 0 || s[i - 1] == ' ');
}

/* True if the character at s[i], *len bytes long, may go to a terminal unchanged. */
static bool harmless(const char *s, size_t n, size_t i, size_t *len)
{
    uint32_t code;
    *len = utf8_next(s + i, n - i, &code);
    return !char_acts(code) && code != 0xfffd && !starts_command(s, n, i);
}

/* Writes the character at s[i] of s[0..n) and returns its length in bytes. */
static size_t put_char(FILE *f, const char *s, size_t n, size_t i)
{
    size_t len;
    if (harmless(s, n, i, &len))
        fwrite(s + i, 1, len, f);
    else
        fputc('?', f);
    return len;
}

void terminal_clean(char *text)
{
    size_t n = strlen(text), used = 0, len;
    for (size_t i = 0; i < n; i += len) {
        bool as_it_is = harmless(text, n, i, &len);
        if (as_it_is)
            memmove(text + used, text + i, len);
        else
            text[used] = '?';
        used += as_it_is ? len : 1;
    }
    text[used] = 0;
}

static int columns_of(const char *s, size_t n)
{
    int columns = 0;
    uint32_t code;
    for (size_t i = 0; i < n; i += utf8_next(s + i, n - i, &code))
        columns++;
    return columns;
}

/* True if `word` of n bytes is a unit, perhaps with punctuation behind it. */
static bool is_unit(const char *word, size_t n)
{
    static const char *const units[] = {"%",  "ms", "us", "ns", "s",    "B",
                                        "kB", "KB", "MB", "GB", "GB/s", "points"};
    while (n > 1 && strchr(".,;:)", word[n - 1]))
        n--;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == n && strncmp(units[i], word, n) == 0)
            return true;
    return false;
}

/* Length of the next word in bytes; a number and its unit count as one word. */
static size_t word_length(const char *text)
{
    size_t n = strcspn(text, " \n");
    bool number = n && text[n - 1] >= '0' && text[n - 1] <= '9';
    if (number && text[n] == ' ') {
        size_t next = strcspn(text + n + 1, " \n");
        if (is_unit(text + n + 1, next))
            n += 1 + next;
    }
    return n;
}

void term_wrap_most(const struct terminal *t, int column, int indent, const char *text, int lines)
{
    bool first = true;
    while (*text) {
        text += strspn(text, " \n");
        size_t n = word_length(text);
        if (n == 0)
            break;
        int columns = columns_of(text, n);
        bool more = text[n + strspn(text + n, " \n")] != 0;
        int room = lines == 1 && more ? 4 : 0; /* for " ..." behind it */
        if (!first && column + 1 + columns + room > t->width) {
            if (lines == 1) {
                fputs(" ...", t->f);
                break;
            }
            lines -= lines > 0;
            fprintf(t->f, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', t->f);
            column++;
        }
        for (size_t i = 0; i < n;)
            i += put_char(t->f, text, n, i);
        column += columns;
        text += n;
        first = false;
    }
    fputc('\n', t->f);
}

void term_wrap(const struct terminal *t, int column, int indent, const char *text)
{
    term_wrap_most(t, column, indent, text, 0);
}

void term_labelled(const struct terminal *t, const char *label, enum ink ink, const char *text)
{
    term_ink(t, ink);
    fprintf(t->f, "%-9s", label);
    term_ink(t, INK_PLAIN);
    term_wrap(t, 9, 9, text ? text : "");
}

const char *term_cell(const struct terminal *t, const char *text, int n)
{
    size_t end = 0;
    int columns = 0;
    for (size_t i = 0; text[i];) {
        size_t word = i + strspn(text + i, " ");
        word += strcspn(text + word, " ");
        int all = columns_of(text, word);
        if (all > n && end)
            break;
        end = i = word;
        columns = all;
    }
    for (size_t i = 0; i < end;)
        i += put_char(t->f, text, end, i);
    fprintf(t->f, "%*s", columns < n ? n - columns : 0, "");
    return text + end + strspn(text + end, " ");
}

int term_fit(const struct terminal *t, const char *text, int n, bool pad)
{
    size_t len = strlen(text);
    int all = columns_of(text, len), shown = 0;
    int room = all > n ? n - 3 : n;
    for (size_t i = 0; i < len && shown < room; shown++)
        i += put_char(t->f, text, len, i);
    if (all > n) {
        fputs("...", t->f);
        shown += 3;
    }
    for (; pad && shown < n; shown++)
        fputc(' ', t->f);
    return shown;
}
