#include "report/xml.h"
#include "report/json_write.h"

#include <stdarg.h>
#include <string.h>

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
    default:
        return NULL;
    }
}

static void put_escaped(FILE *f, const char *s, int markdown)
{
    size_t n = s ? strlen(s) : 0;
    for (size_t i = 0; i < n;) {
        uint32_t code;
        size_t len = utf8_next(s + i, n - i, &code);
        const char *name = entity(code);
        if (markdown && (code == '"' || code == '\'' || code == '>'))
            name = NULL;
        if (name)
            fputs(name, f);
        else if (code == 0xfffd)
            fputs("\xef\xbf\xbd", f);
        else if (markdown && (code == '\n' || code == '\r'))
            fputc(' ', f);
        else if (markdown && strchr("|`*_[]\\", (int)code) && code < 0x80) {
            fputc('\\', f);
            fputc((int)code, f);
        } else if (code >= 0x20 || code == '\n' || code == '\t')
            fwrite(s + i, 1, len, f);
        i += len;
    }
}

void xml_text(FILE *f, const char *s)
{
    put_escaped(f, s, 0);
}

void markdown_text(FILE *f, const char *s)
{
    put_escaped(f, s, 1);
}

void xml_printf(FILE *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    for (const char *p = fmt; *p; p++) {
        if (*p != '%') {
            fputc(*p, f);
        } else if (*++p == 's') {
            xml_text(f, va_arg(ap, const char *));
        } else {
            fputc('%', f);
        }
    }
    va_end(ap);
}
