/* Secrets in command lines and names: what is hidden, and what only looks like a secret. */
#include "tests/unit/test.h"
#include "base/secrets/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Put together here, so that scanners of this source find none. */
#define HF                                                                                         \
    "hf_"                                                                                          \
    "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"
#define GH                                                                                         \
    "ghp_"                                                                                         \
    "0123456789abcdefABCDEF0123456789abcd"
#define AWS                                                                                        \
    "AKIA"                                                                                         \
    "IOSFODNN7EXAMPLE"
#define HEX40                                                                                      \
    "0123456789abcdef0123"                                                                         \
    "456789abcdef01234567"
#define JWT                                                                                        \
    "eyJhbGciOiJIUzI1NiJ9"                                                                         \
    ".eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"
#define PEM                                                                                        \
    "-----BEGIN RSA PRIVATE"                                                                       \
    " KEY-----\nMIIEow\n-----END RSA PRIVATE"                                                      \
    " KEY-----"

/* `in` without its secrets, malloc'ed. */
static char *hidden(const char *text, enum secrets_in in)
{
    char *out;
    size_t n = strlen(text);
    int found = secrets_hide(text, n, in, &out, &n);
    ck_assert_int_ge(found, 0);
    if (!found)
        return strdup(text);
    ck_assert_uint_eq(strlen(out), n);
    return out;
}

static void check(const char *in, const char *out, enum secrets_in kind)
{
    char *once = hidden(in, kind), *twice = hidden(once, kind);
    ck_assert_str_eq(once, out);
    ck_assert_str_eq(twice, out);
    free(once);
    free(twice);
}

TEST(values_behind_names_are_hidden)
{
    static const char *const cases[][2] = {
        {"python t.py --hf-token=abc --lr 1", "python t.py --hf-token=*** --lr 1"},
        {"t --hf-token abc x", "t --hf-token *** x"},
        {"t --hfToken abc", "t --hfToken ***"},
        {"t --HFToken=abc", "t --HFToken=***"},
        {"t -password hunter2", "t -password ***"},
        {"t --api_key=abc --api-keys a,b", "t --api_key=*** --api-keys ***"},
        {"t --key abc --secret=s --passwd p --pwd p",
         "t --key *** --secret=*** --passwd *** --pwd ***"},
        {"t --auth u:p --credential=c --bearer b", "t --auth *** --credential=*** --bearer ***"},
        {"t --cookie c --private-key k --private k",
         "t --cookie *** --private-key *** --private ***"},
        {"t trainer.hub.token=abc +db.password=x", "t trainer.hub.token=*** +db.password=***"},
        {"t --token 'a b' --password \"c d\" e", "t --token '***' --password \"***\" e"},
        {"sh -c HF_TOKEN=abc python t.py", "sh -c HF_TOKEN=*** python t.py"},
        {"sh -c 'export DB_PASS=\"a b\"; run'", "sh -c 'export DB_PASS=\"***\"; run'"},
        {"WANDB_API_KEY=" HEX40 " t", "WANDB_API_KEY=*** t"},
        {"wandb login " HEX40, "wandb login ***"},
        {"AWS_SECRET_ACCESS_KEY=a/b+c t", "AWS_SECRET_ACCESS_KEY=*** t"},
        {"curl -H 'Authorization: Bearer abc' x", "curl -H 'Authorization: Bearer ***' x"},
        {"curl -H Authorization: Bearer abc x", "curl -H Authorization: Bearer *** x"},
        {"curl -H \"X-Api-Key: abc\" x", "curl -H \"X-Api-Key: ***\" x"},
        {"curl -H 'Cookie: a=b; c=d' x", "curl -H 'Cookie: ***' x"},
        {"t --cookie a=b; c=d x", "t --cookie *** x"},
        {"t '{\"token\": \"abc\", \"n\": 1}'", "t '{\"token\": \"***\", \"n\": 1}'"},
        {"t {\\\"password\\\":\\\"a b\\\",\\\"n\\\":1}",
         "t {\\\"password\\\":\\\"***\\\",\\\"n\\\":1}"},
        {"t {api_key: abc, n: 1}", "t {api_key: ***, n: 1}"},
        {"python -c os.environ[\"HF_TOKEN\"] = 'abc'; go()",
         "python -c os.environ[\"HF_TOKEN\"] = '***'; go()"},
        {"python -c login(token=\"abc\")", "python -c login(token=\"***\")"},
        {"[\"--token\", \"abc\"]", "[\"--token\", \"***\"]"},
        {"get http://x/y?a=1&token=abc&b=2", "get http://x/y?a=1&token=***&b=2"},
        {"get http://u:p%40w@host/x", "get http://u:***@host/x"},
        {"postgres://me:se:cr@et@db:5432/x", "postgres://me:***@db:5432/x"},
        {"t --password=it's", "t --password=***"},
        {"t --token \"cut", "t --token \"***"},
        {"t --dbpassword x --my-passphrase=y", "t --dbpassword *** --my-passphrase=***"},
        {"t --token-value abc --token2=x", "t --token-value *** --token2=***"},
        {"t {\"credentials\":{\"user\":\"u\",\"pass\":\"a}b\"},\"n\":1}",
         "t {\"credentials\":{***},\"n\":1}"},
        {"t '{\"tokens\":[\"a\",\"b\"],\"n\":1}'", "t '{\"tokens\":[***],\"n\":1}'"},
        {"t {\"db\":{\"user\":\"u\",\"pass\":\"b\"}}",
         "t {\"db\":{\"user\":\"u\",\"pass\":\"***\"}}"},
        {"t {\\\"secrets\\\":{\\\"a\\\":\\\"b\\\"}}", "t {\\\"secrets\\\":{***}}"},
        {"t {\"secret\":[\"cut", "t {\"secret\":[***"},
        {"t --pass hunter2 --lr 1", "t --pass *** --lr 1"},
        {"java -Dtoken=abc -Dfs.s3a.secret.key=abc -Pdb_pass=x -eHF_TOKEN=y",
         "java -Dtoken=*** -Dfs.s3a.secret.key=*** -Pdb_pass=*** -eHF_TOKEN=***"},
        {"get https://a.blob.net/c/f?sv=2024&sig=aB%2Fc%3D&se=x",
         "get https://a.blob.net/c/f?sv=2024&sig=***&se=x"},
        {"get http://x/go?to=y%3Ftoken%3Dabc%26b%3D1&c=2",
         "get http://x/go?to=y%3Ftoken%3D***%26b%3D1&c=2"},
        {"t DefaultEndpointsProtocol=https;AccountName=me;AccountKey=a/b==;EndpointSuffix=x",
         "t DefaultEndpointsProtocol=https;AccountName=me;AccountKey=***;EndpointSuffix=x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(cases[i][0], cases[i][1], SECRETS_COMMAND);
}

TEST(what_looks_like_a_secret_is_hidden_anywhere)
{
    static const char *const cases[][2] = {
        {"load " HF " now", "load *** now"},
        {"x=" GH, "x=***"},
        {AWS, "***"},
        {"sk-"
         "proj-abcdefgh1234567890ABCD",
         "***"},
        {"github"
         "_pat_11ABCDEFG0123456789_abcdefghij",
         "***"},
        {"xox"
         "b-123456789012-abcdef",
         "***"},
        {"a " JWT " b", "a *** b"},
        {"a " PEM " b", "a *** b"},
        {"-----BEGIN PRIVATE"
         " KEY-----\nMIIE",
         "***"},
        {"Bearer abcdefgh12345", "Bearer ***"},
        {"https://user:pw@host/x", "https://user:***@host/x"},
        {"https://0123456789abcdef0123@sentry/1", "https://***@sentry/1"},
        {"https://hooks.slack.com/services/T0/B0/xyz", "https://hooks.slack.com/services/***"},
        {"https://discord.com/api/webhooks/123456789/aB-c_d",
         "https://discord.com/api/webhooks/***"},
        {"S"
         "G.abcdefghijklmnopqrstuv.0123456789012345678901234567890123456789012 x",
         "*** x"},
        {"g"
         "sk_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOP",
         "***"},
        {"r"
         "8_abcdefghijklmnopqrstuvwxyz01234567890",
         "***"},
        {"shp"
         "at_0123456789abcdef0123456789abcdef",
         "***"},
        {"do"
         "p_v1_" HEX40 "0123456789abcdef01234567",
         "***"},
        {"hv"
         "s.CAESIabcdefghijklmnopqrstuvwxyz0123",
         "***"},
        {"ya"
         "29.a0AfB_byC-dEf0123456789",
         "***"},
        {"GOC"
         "SPX-abcdefghijklmnop0123456789ab",
         "***"},
        {"AGE-SECRET"
         "-KEY-1QQPQYRQSZQQPQYRQSZQQPQYRQSZQQPQYRQSZQQPQYRQSZQQPQYRQSZQQ",
         "***"},
        {"da"
         "pi0123456789abcdef0123456789abcdef",
         "***"},
        {"k"
         "ept 123456789:AAabcdefghijklmnopqrstuvwxyz0123456",
         "kept ***"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check(cases[i][0], cases[i][1], SECRETS_NAME);
        check(cases[i][0], cases[i][1], SECRETS_COMMAND);
    }
}

TEST(false_friends_stay)
{
    static const char *const cases[] = {
        "t --tokenizer gpt2 --tokenizer-name=x --max-tokens 512 --max_tokens=512",
        "t --num-tokens 300B --tokens 1e9 --keys 4 --num-keys 8 --api-keys=3",
        "t --key-padding mask --key_padding_mask=True --keyboard qwerty --monkey=george",
        "t --author me --authors=a,b --authority x --keyframe 3 --key-size 64 --token-type bert",
        "t --pad-token x --eos_token=y --mask-token [MASK] --primary-key id --public-key=abc",
        "t --sort-key length --image-key jpg --label_key=cls --dict.key_dim 64",
        "t --use-auth true --use_auth_token=False --private no --token none",
        "t --secretary bob --passenger list --two-pass all --pass 2 --compass north",
        "t --password-file /run/x --token_path=/y --secret-name db",
        "t --hf-token --lr 1",
        "t --token $HF_TOKEN --token=${HF_TOKEN} password=${oc.env:PW}",
        "PWD=/home/me OLDPWD=/ t --cwd /x",
        "t --password=",
        "t {\"tokens\": [1, 2, 3], \"keys\": []} --sig=3 -Dtokenizer=x -Debug",
        "git@github.com:a/b ssh://git@github.com/a https://host:80/x?y=1@2",
        "std::token::x key::y at::native::auth",
        "if token == x: pass",
        "commit " HEX40,
        "AKIAIOSF sk-learn-preprocessing-pipelines hf_model_for_me_and_more eyJhbGci",
        "Bearer token",
        "--lr=1e-4 optim.lr=3 /data/keys/x.txt --signature serving_default",
        "---BEGIN PUBLIC KEY-----",
        "",
        ":",
        "-",
        "\"",
        "=",
        "token",
        "token=",
        "--",
        "://",
        "a://@",
        "'token'",
        "\\\\\\\"",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(cases[i], cases[i], SECRETS_COMMAND);
    /* names of ranges are the program's own: what a value is called does not matter there */
    check("cache key=attention.0", "cache key=attention.0", SECRETS_NAME);
    check("void f<(Token)1>(char*)", "void f<(Token)1>(char*)", SECRETS_NAME);
}

TEST(words_are_joined_without_secrets)
{
    static const struct {
        const char *words;
        size_t n;
        const char *out;
    } cases[] = {
#define WORDS(w) w, sizeof w
        {WORDS("t\0--password=a b c\0--x"), "t --password=*** --x"},
        {WORDS("t\0--password\0a b c\0--x"), "t --password *** --x"},
        {WORDS("t\0password=a b\0x"), "t password=*** x"},
        {WORDS("sh\0-c\0TOKEN=abc exec t --lr 1"), "sh -c TOKEN=*** exec t --lr 1"},
        {WORDS("bash\0-lc\0t --token abc --lr 1"), "bash -lc t --token *** --lr 1"},
        {WORDS("curl\0-H\0Authorization: Bearer abc"), "curl -H Authorization: Bearer ***"},
        {WORDS("t\0--token\0--lr\0001"), "t --token --lr 1"},
        {WORDS("t\0--token\0-aB3dE5fG\0--x"), "t --token *** --x"},
        {WORDS("t\0-token\0-learning_rate\0001"), "t -token -learning_rate 1"},
        {WORDS("t\0--max-tokens\000512\0a"), "t --max-tokens 512 a"},
        {WORDS("t\0\0a"), "t  a"},
        {WORDS("t\0{\"token\": \"a b\"}"), "t {\"token\": \"***\"}"},
    };
    char out[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        secrets_join(cases[i].words, cases[i].n, out, sizeof out);
        ck_assert_str_eq(out, cases[i].out);
    }
    secrets_join(WORDS("train\0--password=abc"), out, 8);
    ck_assert_str_eq(out, "train -");
    secrets_join("", 0, out, sizeof out);
    ck_assert_str_eq(out, "");
}

/* Every text of up to four characters of those that steer the search: nothing is read outside of
 * the buffer (run under a sanitizer), and a second treatment changes nothing. */
TEST(short_texts_come_out_the_same_twice)
{
    static const char set[] = "t:=\"'\\ -/@*;$";
    size_t base = sizeof set - 1, all = base * base * base * base;
    for (size_t i = 0; i < all; i++) {
        char text[16], *once, *twice;
        size_t k = i;
        strcpy(text, "key");
        for (int c = 0; c < 4; c++, k /= base)
            text[3 + c] = set[k % base];
        text[7] = 0;
        once = hidden(text, SECRETS_COMMAND);
        twice = hidden(once, SECRETS_COMMAND);
        ck_assert_str_eq(once, twice);
        free(once);
        free(twice);
    }
}
