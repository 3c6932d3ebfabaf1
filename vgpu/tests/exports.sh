#!/bin/sh
# exports.sh FOLDER...: what NVIDIA's libraries in these folders export stands in exports/, for each release that is there: a name
# that a newer one has besides would not be found by a program, instead of ending it with a line. Names of C++ and of other
# libraries that one has linked in do not count. Without a library there it says so, and passes.
lists=$(dirname "$0")/../exports bad=0 seen=0
names() { # LIST: one a line, with the forms for 64-bit sizes
    like=$(sed -n 's/^like //p' "$lists/$1")
    { [ -z "$like" ] || names "$like"; sed -n '/^like /d; /^- /d; s/^+ //; p' "$lists/$1"; } |
        awk '{ print $1 } $2 == "_64" { print $1 "_64" }' | grep -vxF "$(sed -n 's/^- //p' "$lists/$1" | grep . || echo -)"
}
check() { # LIST PREFIX FILE
    nm -D --defined-only "$3" 2>/dev/null | awk '$2 ~ /[TWi]/ { sub(/@.*/, "", $3); print $3 }' | grep "^$2" | sort -u >"$tmp/real"
    [ -s "$tmp/real" ] || return 0
    seen=$((seen + 1))
    names "$1" | sort -u >"$tmp/known"
    missing=$(comm -23 "$tmp/real" "$tmp/known")
    [ -z "$missing" ] || { echo "$3: not in exports/$1:" $missing; bad=1; }
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for folder; do
    for file in "$folder"/lib*.so.*; do
        case ${file##*/} in
            libcublas.so.*) check cublas.txt cublas "$file" ;;
            libcublasLt.so.*) check cublasLt.txt cublasLt "$file" ;;
            libcudart.so.12*) check cudart12.txt cuda "$file" ;;
            libcudart.so.*) check cudart.txt cuda "$file" ;;
            libcudnn.so.*) check cudnn.txt cudnn "$file" ;;
            libcufft.so.*) check cufft.txt cufft "$file" ;;
            libcupti.so.*) check cupti.txt cupti "$file" ;;
            libcurand.so.*) check curand.txt curand "$file" ;;
            libcusolver.so.*) check cusolver.txt cusolver "$file" ;;
            libcusparse.so.*) check cusparse.txt cusparse "$file" ;;
            libnccl.so.*) check nccl.txt nccl "$file" ;;
        esac
    done
done
[ $bad = 0 ] && echo "exports: $seen libraries have no name that is not listed"
exit $bad
