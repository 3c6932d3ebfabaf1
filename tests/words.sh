#!/bin/sh
# words.sh [ROOT]: texts that users read name the actor and use the field's terms. Finds the worst old phrases in string
# literals of the product and in the documents. Without ROOT it also plants a phrase of each kind in a copy of nothing and
# expects to find it, so that the check itself cannot rot.
cd "$(dirname "$0")/.." || exit 2
# one extended regular expression a line; case does not matter
phrases='held up (in|by)
there, but
runs? dry
foretells?
(nobody|nothing) (can be|is|was) (told|said|known)
(is|are|was) (told|said) (of|by|to|at once|so)
(told|tells) (apart|of)
does not tell|cannot be told|could not be told|not to be told
stands? (wherever|ready|empty|still|in line|in the way|beside)
nothing stands out
takes? part of it from
more (now|here), less
do not suffice|surely (is|not)
by itself it saves
something else takes its place
(does|did) not obey|who obeys|whether it obeys
is asked for|was asked for|asked for by
(what|which) is waited for|is waited for
their kin|of them anew
no GPU was at work|a GPU is at work
nothing is (known|said|told) (of|about)
as far as they
GPU idle, mostly'

texts() { # of a folder: FILE<tab>TEXT, a literal or a document a line
    (cd "$1" && find . \( -name build -o -name 'build-*' -o -name node_modules -o -name .git \) -prune -o -type f \
        \( -path './analyzer/*.[ch]' -o -path './report/*.[ch]' -o -path './cli/*.[ch]' -o -path './agent/*.[ch]' \
        -o -path './base/*.[ch]' -o -path './agent/*.py' -o -path './report/assets/*.js' \) -print |
        while read -r f; do awk -v f="$f" 'BEGIN { RS = "\001" } {
            gsub(/"[ \t]*\n[ \t]*"/, "")
            while (match($0, /"([^"\\\n]|\\.)*"/)) {
                print f "\t" substr($0, RSTART + 1, RLENGTH - 2)
                $0 = substr($0, RSTART + RLENGTH)
            } }' "$f"; done
    find . \( -name build -o -name 'build-*' -o -name node_modules -o -name .git \) -prune -o -name '*.md' \
        ! -name CHANGELOG.md -print | while read -r f; do printf '%s\t' "$f"; tr '\n' ' ' <"$f" | tr -s ' '; echo; done)
}

found() { # FOLDER: phrases in its texts
    texts "$1" | awk -v phrases="$phrases" 'BEGIN { n = split(phrases, p, "\n") } {
        file = $0; sub(/\t.*/, "", file)
        text = tolower(substr($0, length(file) + 2))
        for (i = 1; i <= n; i++)
            if (match(text, "(^|[^a-z])(" tolower(p[i]) ")([^a-z]|$)")) {
                from = RSTART > 30 ? RSTART - 30 : 1
                print file ": " substr(text, from, RLENGTH + 60)
            } }'
}

if [ -n "${1-}" ]; then
    found "$1"
    exit
fi
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted/cli" "$planted/docs"
printf 'static const char *a = "the step waits: %%s, there, "\n                       "but by itself it saves nothing";\n' >"$planted/cli/a.c"
printf 'A trace does not\ntell which records were lost.\n' >"$planted/docs/a.md"
printf '/* a fine comment */ static const char *b = "The GPU waits for data.";\n' >"$planted/cli/b.c"
seen=$(found "$planted" | cut -d: -f1 | sort -u | tr '\n' ' ')
[ "$seen" = "./cli/a.c ./docs/a.md " ] || { echo "words: planted phrases were not found: $seen"; exit 1; }
bad=$(found .)
if [ -n "$bad" ]; then
    echo "words that are hard to read (say who does what; tests/words.sh lists them):"
    printf '%s\n' "$bad"
    exit 1
fi
echo "words: ok"
