/* What the name of an option or a variable tells about its value. A name is split into words at _ -
 * . and where camelCase turns, so that `tokenizer`, `monkey` and `author` do not count as
 * secrets. */
#include "base/secrets/secrets.h"

#include <ctype.h>
#include <string.h>

enum { WORDS = 12, WORD = 24 };

struct words {
    char at[WORDS][WORD];
    size_t n;
};

/* True if `list` (words with blanks between them) has this word. */
static bool in_list(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; n && (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
            return true;
    return false;
}

static bool turns(const char *s, size_t n, size_t i)
{
    unsigned char before = (unsigned char)s[i - 1], c = (unsigned char)s[i];
    if (isdigit(before) != 0 && isdigit(c) == 0)
        return true;
    if (isupper(c) == 0)
        return isdigit(c) != 0 && isdigit(before) == 0;
    return islower(before) || (isupper(before) && i + 1 < n && islower((unsigned char)s[i + 1]));
}

/* The last WORDS words of a name, in lower case. */
static void split(const char *s, size_t n, struct words *w)
{
    size_t length = 0;
    w->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)s[i])) {
            length = 0;
            continue;
        }
        if (length && turns(s, n, i))
            length = 0;
        if (length == 0) {
            if (w->n == WORDS) {
                memmove(w->at, w->at[1], (WORDS - 1) * sizeof *w->at);
                w->n--;
            }
            w->n++;
        }
        if (length < WORD - 1) {
            w->at[w->n - 1][length++] = (char)tolower((unsigned char)s[i]);
            w->at[w->n - 1][length] = 0;
        }
    }
}

static const char carriers[] = "value str string b64 base64 hex pem header raw plain encoded";
static const char sure[] = "passwd pwd secret secrets credential credentials cred creds bearer "
                           "cookie cookies jwt authorization passcode apikey apikeys accesskey "
                           "secretkey privatekey authkey sshkey signingkey hftoken apitoken "
                           "accesstoken authtoken bottoken refreshtoken githubtoken wandbkey "
                           "signature accountkey sharedaccesskey";
static const char sure_keys[] = "api access secret private ssh encryption signing master account "
                                "service hf wandb openai aws azure admin";
/* Words behind a secret's name with which the name is only about a secret. */
static const char about[] = "file files path paths dir directory folder length len size type kind "
                            "policy required enabled count name names id ids url provider manager "
                            "ttl expiry idx index dim";
/* Words before `token`, `key` or `pass` that come from models and tables. */
static const char plain_tokens[] =
    "pad padding eos bos unk mask sep cls image img video audio vision stop special start end "
    "begin "
    "beginning patch register reg text prompt space newline first last next new max min num n per "
    "total extra additional target source lang language class decoder encoder";
static const char plain_keys[] =
    "sort primary foreign public pub cache image img images label labels text data dataset dict "
    "column col input inputs output target metric prompt question answer state group lookup hot "
    "json yaml num n max min partition shard index batch map config loss reward query q monitor "
    "feature features video audio caption field kv value head";
static const char plain_passes[] = "first second third forward backward single multi two one num "
                                   "per full all n max last by low high max render";

static bool is_sure(const struct words *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *word = w->at[i];
        if (strcmp(word, "signature") == 0 && !(i && in_list("amz goog", w->at[i - 1])))
            continue; /* functions have signatures too */
        if (in_list(sure, word) || strstr(word, "password") || strstr(word, "passphrase"))
            return true;
        if (strcmp(word, "key") == 0 && i && i + 1 == n && in_list(sure_keys, w->at[i - 1]))
            return true;
    }
    return false;
}

enum secrets_name secrets_name_of(const char *name, size_t n)
{
    struct words w;
    split(name, n, &w);
    size_t count = w.n;
    while (count > 1 &&
           (isdigit((unsigned char)w.at[count - 1][0]) || in_list(carriers, w.at[count - 1])))
        count--;
    if (count == 0)
        return SECRETS_NONE;
    const char *last = w.at[count - 1], *before = count > 1 ? w.at[count - 2] : "";
    if (in_list(about, last))
        return SECRETS_NONE;
    if (is_sure(&w, count))
        return SECRETS_SURE;
    if (in_list("token tokens", last) && !in_list(plain_tokens, before))
        return last[5] ? SECRETS_COUNTED : SECRETS_SWITCHED;
    if (in_list("key keys", last) && !in_list(plain_keys, before))
        return last[3] ? SECRETS_COUNTED : SECRETS_SWITCHED;
    if (strcmp(last, "pass") == 0 && !in_list(plain_passes, before))
        return SECRETS_COUNTED;
    return in_list("auth oauth private", last) ? SECRETS_SWITCHED : SECRETS_NONE;
}
