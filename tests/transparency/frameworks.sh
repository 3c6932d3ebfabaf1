#!/bin/sh
# frameworks.sh FOLDER: a virtual environment in FOLDER with the frameworks of requirements.txt. Prints "frameworks=PYTHON", or
# nothing and one line on stderr that says why not. It stays there: a second call with the same list takes no time.
set -u
folder=$1
list=$(dirname "$0")/requirements.txt
python=$(command -v python3.11 || command -v python3.12 || command -v python3) || {
    echo "frameworks: no python3 here, so no frameworks" >&2
    exit 1
}
have=$folder/installed.txt
if ! cmp -s "$list" "$have"; then
    rm -rf "$folder"
    mkdir -p "$(dirname "$folder")"
    "$python" -m venv "$folder" >/dev/null 2>&1 &&
        timeout 240 "$folder/bin/pip" install -q --no-compile --retries 1 --timeout 20 -r "$list" >"$folder/pip.log" 2>&1
    status=$?
    # what is imported gets compiled now; all of it takes a minute
    [ $status != 0 ] || env -u PYTHONDONTWRITEBYTECODE "$folder/bin/python" -c 'import lightning, accelerate, torch._dynamo, transformers.trainer' \
        >>"$folder/pip.log" 2>&1
    if [ $status != 0 ]; then
        why=$(grep '^ERROR' "$folder/pip.log" 2>/dev/null | tail -n 1 | cut -c1-120)
        [ $status = 124 ] && why="it takes longer than 4 minutes"
        echo "frameworks: not installed (${why:-status $status}), so the matrix runs without them" >&2
        exit 1
    fi
    cp "$list" "$have"
fi
echo "frameworks=$folder/bin/python"
