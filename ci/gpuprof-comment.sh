#!/bin/sh
# Says in a pull request what `gpuprof gate` says, with the diff that mends a slowdown where gpuprof can make one:
# gpuprof-comment.sh BASE NEW [OPTIONS of gate]. There is one comment, which each run updates.
#
#   GPUPROF_NAME    tells the comments of several programs apart (gpuprof)
#   GPUPROF_SOURCE  the program's folder (.)
#   GitHub          GITHUB_REPOSITORY, GITHUB_REF (refs/pull/N/merge), and `gh` with GH_TOKEN, which may write pull requests
#   GitLab          CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID, GITLAB_TOKEN (scope api), curl and python3
#
# Elsewhere it prints the comment. Exits with 2 where there is nothing to say, with 1 where it cannot be sent, else with 0: the
# verdict is the gate's.
set -u
[ $# -ge 2 ] || { echo "usage: gpuprof-comment.sh BASE NEW [OPTIONS of gate]" >&2; exit 2; }
marker="<!-- gpuprof-comment: ${GPUPROF_NAME:-gpuprof} -->"
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
gpuprof gate --markdown --source "${GPUPROF_SOURCE:-.}" -f -o "$folder/gate.md" "$@" || [ $? != 2 ] || exit 2
{ echo "$marker"; cat "$folder/gate.md"; } | head -c 60000 >"$folder/body" # GitHub takes 65,536 characters

# update COMMAND ...: the first comment with the marker that may be changed; a stranger may have written one, too
update() {
    while read -r id; do
        "$1" "$id" </dev/null && exit 0
    done <"$folder/ids"
}

github() { gh api "$@" -F "body=@$folder/body" >"$folder/answer"; }
github_update() { github -X PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$1"; }

gitlab() { printf 'PRIVATE-TOKEN: %s\n' "$GITLAB_TOKEN" | curl -sS -f -H @- "$@"; }
gitlab_update() { gitlab -X PUT --data-urlencode "body@$folder/body" "$notes/$1" >"$folder/answer"; }

pull=${GITHUB_REF:-}
pull=${pull#refs/pull/}
if [ -n "${GITHUB_REPOSITORY:-}" ] && [ "$pull" != "${GITHUB_REF:-}" ]; then
    all=repos/$GITHUB_REPOSITORY/issues/${pull%%/*}/comments
    gh api --paginate "$all" --jq ".[] | select(.body | startswith(\"$marker\")) | .id" >"$folder/ids" || exit 1
    update github_update
    github -X POST "$all" || exit 1
elif [ -n "${CI_MERGE_REQUEST_IID:-}" ]; then
    notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
    gitlab "$notes?per_page=100&sort=asc" >"$folder/notes" || exit 1
    python3 -c 'import json, sys
for note in json.load(sys.stdin):
    if note["body"].startswith(sys.argv[1]):
        print(note["id"])' "$marker" <"$folder/notes" >"$folder/ids" || exit 1
    update gitlab_update
    gitlab -X POST --data-urlencode "body@$folder/body" "$notes" >"$folder/answer" || exit 1
else
    cat "$folder/body"
fi
