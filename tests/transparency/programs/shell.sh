echo "arguments $# $*"
umask
ulimit -n
trap 'echo trapped; exit 4' TERM
(echo in a subshell; exit 3); echo $?
x=$(echo substituted | tr a-z A-Z); echo "$x"
cat <<HERE
a document with $x
HERE
echo to stderr >&2
printf 'b\na\n' | sort | while read -r l; do echo "line $l"; done
sleep 30 &
kill -KILL $!; wait $! 2>/dev/null; echo $?
[ -t 0 ] || echo no terminal
read -r line; echo "read $line"
mkdir made; : >made/file; chmod 640 made/file; ln -s file made/link
kill -TERM $$
