/* Escapes text for HTML, XML and Markdown (xml.h). */
#include "report/page/xml.h"

#include "report/chars.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
static const char nothing[] = "&#8203;";          /* a space of no width, which breaks up a link */

static const char *entity(uint32_t c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
        return "&#9;";
    case '\n':
        return "&#10;";
    case '\r':
        return "&#13;";
    default:
        return char_acts(c) ? replacement : NULL;
    }
}

void xml_text_n(FILE *f, const char *s, size_t n)
{
    size_t len;
    for (size_t i = 0; i < n; i += len) {
        uint32_t code;
        len = utf8_next(s + i, n - i, &code);
        const char *instead = code == 0xfffd ? replacement : entity(code);
        if (code == '#' && text_commands(s + i, n - i))
            instead = "&#35;";
        if (instead)
            fputs(instead, f);
        else
            fwrite(s + i, 1, len, f);
    }
}

void xml_text(FILE *f, const char *s)
{
    xml_text_n(f, s, s ? strlen(s) : 0);
}

/* True if a Markdown renderer would make a link at s[i]: @name, #123, http://, www.name. */
static bool makes_link(const char *s, size_t i)
{
    if (s[i] == '@')
        return true;
    if (s[i] == '#')
        return isdigit((unsigned char)s[i + 1]) || text_commands(s + i, strlen(s + i));
    if (s[i] == ':')
        return s[i + 1] == '/';
    return s[i] == '.' && i >= 3 && strncasecmp(s + i - 3, "www", 3) == 0;
}

static void markdown_char(FILE *f, const char *s, size_t i)
{
    char c = s[i];
    if (c == '\n' || c == '\r' || c == '\t')
        fputc(' ', f);
    else if (c == '&' || c == '<')
        fputs(entity((uint32_t)c), f);
    else if (c == '$')
        fputs("&#36;", f);
    else if ((unsigned char)c < 0x20 || c == 0x7f)
        fputs(replacement, f);
    else if (strchr("|`*_[]\\~", c))
        fprintf(f, "\\%c", c);
    else
        fputc(c, f);
    if (makes_link(s, i))
        fputs(nothing, f);
}

void markdown_text(FILE *f, const char *s)
{
    size_t n = s ? strlen(s) : 0, len;
    for (size_t i = 0; i < n; i += len) {
        uint32_t code;
        len = utf8_next(s + i, n - i, &code);
        if (code < 0x80)
            markdown_char(f, s, i);
        else if (code == 0xfffd || char_acts(code))
            fputs(replacement, f);
        else
            fwrite(s + i, 1, len, f);
    }
}

static void print(FILE *f, const char *fmt, va_list ap, void (*escape)(FILE *, const char *))
{
    for (const char *p = fmt; *p; p++) {
        if (*p != '%') {
            fputc(*p, f);
        } else if (*++p == 's') {
            escape(f, va_arg(ap, const char *));
        } else {
            fputc('%', f);
        }
    }
}

void xml_printf(FILE *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print(f, fmt, ap, xml_text);
    va_end(ap);
}

void markdown_printf(FILE *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print(f, fmt, ap, markdown_text);
    va_end(ap);
}

/* The longest run of ` in the text. */
static size_t ticks(const char *text)
{
    size_t most = 0;
    for (; *text; text += *text != 0) {
        size_t n = strspn(text, "`");
        most = n > most ? n : most;
        text += n;
    }
    return most;
}

static void write_fence(size_t n, const char *language, FILE *f)
{
    while (n--)
        fputc('`', f);
    fprintf(f, "%s\n", language);
}

void markdown_code(FILE *f, const char *language, const char *text)
{
    size_t fence = ticks(text) < 3 ? 3 : ticks(text) + 1, n = strlen(text), len;
    write_fence(fence, language, f);
    for (size_t i = 0; i < n; i += len) {
        uint32_t code;
        len = utf8_next(text + i, n - i, &code);
        if (code != '\n' && code != '\t' && char_acts(code))
            fputc('?', f);
        else
            fwrite(text + i, 1, len, f);
    }
    write_fence(fence, "\n", f);
}
