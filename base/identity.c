/* Hides folders, the user's name and the host's name in a text. */
#include "base/identity.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 5, NAME = 256, LEAST = 3 };

struct names {
    char at[NAMES][NAME];
    size_t n;
};

/* Adds a name to hide. Names that thousands of machines share tell nothing, and short ones occur in
 * other words. */
static void add(struct names *names, const char *name)
{
    static const char *const common[] = {"root", "user", "localhost", "ubuntu", "train", "python"};
    if (!name || strlen(name) < LEAST || strlen(name) >= NAME)
        return;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (strcmp(name, common[i]) == 0)
            return;
    snprintf(names->at[names->n++], NAME, "%s", name);
}

static void find_names(struct names *names)
{
    char host[NAME] = "";
    const char *home = getenv("HOME"), *slash = home ? strrchr(home, '/') : NULL;
    names->n = 0;
    add(names, getenv("USER"));
    add(names, getenv("LOGNAME"));
    add(names, slash ? slash + 1 : NULL);
    if (gethostname(host, sizeof host - 1) == 0) {
        add(names, host);
        host[strcspn(host, ".")] = 0;
        add(names, host);
    }
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Length of the longest of these names that stands at s[at]; 0: none. */
static size_t name_at(const struct names *names, const char *s, size_t n, size_t at)
{
    size_t longest = 0;
    if (at && word_char(s[at - 1]))
        return 0;
    for (size_t i = 0; i < names->n; i++) {
        size_t len = strlen(names->at[i]);
        if (len > longest && n - at >= len && memcmp(s + at, names->at[i], len) == 0 &&
            (n - at == len || !word_char(s[at + len])))
            longest = len;
    }
    return longest;
}

/* Length of the folders of an absolute path at s[at], with the last slash; 0: no path begins there,
 * or it has only one part. */
static size_t folders_at(const char *s, size_t n, size_t at)
{
    bool home = s[at] == '~' && n - at > 1 && s[at + 1] == '/';
    bool url = at >= 3 && memcmp(s + at - 3, "://", 3) == 0; /* as in file:///home/me */
    char before = at ? s[at - 1] : ' ';
    if ((s[at] != '/' && !home) ||
        (!url && (word_char(before) || strchr("./~-", before ? before : '.') ||
                  (before == ':' && n - at > 1 && s[at + 1] == '/'))))
        return 0;
    size_t parts = 0, last = at, i = at + home;
    for (; i < n && s[i] && !isspace((unsigned char)s[i]) && !strchr("\"'`,;:()<>|=*", s[i]); i++)
        if (s[i] == '/') {
            last = i;
            parts++;
        }
    return home || parts > 1 ? last - at + 1 : 0;
}

int identity_hide(const char *s, size_t n, char **out, size_t *out_n)
{
    static const char dots[] = ".../", mark[] = "***";
    struct names names;
    size_t used = 0;
    bool changed = false;
    find_names(&names);
    if (!(*out = malloc(2 * n + sizeof dots)))
        return -1;
    for (size_t i = 0; i < n;) {
        size_t folders = folders_at(s, n, i), name = folders ? 0 : name_at(&names, s, n, i);
        if (folders || name) {
            const char *instead = folders ? dots : mark;
            memcpy(*out + used, instead, strlen(instead));
            used += strlen(instead);
            i += folders + name;
            changed = true;
        } else {
            (*out)[used++] = s[i++];
        }
    }
    (*out)[used] = 0;
    *out_n = used;
    if (changed)
        return 1;
    free(*out);
    *out = NULL;
    return 0;
}

void identity_program(const char *command, char *out, size_t size)
{
    size_t n = strcspn(command, " ");
    const char *name = memrchr(command, '/', n);
    name = name ? name + 1 : command;
    snprintf(out, size, "%.*s%s", (int)(command + n - name), name,
             command[n] ? " (arguments hidden)" : "");
}
