# shellcheck shell=sh
# For tests/run.sh and CI: work that takes the processors' idle time.

# behind COMMAND...: begins it, and sets $behind. In a session of its own, because Linux divides time between sessions first
# (sched_autogroup).
behind() {
    idle="nice -n 19"
    ! chrt -i 0 true 2>/dev/null || idle="chrt -i 0"
    # shellcheck disable=SC2086 # two or three words
    setsid sh -c '(echo 19 >/proc/self/autogroup) 2>/dev/null; exec "$@"' sh $idle "$@" &
    behind=$!
}

# Lets what $behind names go on as any other work.
beside() {
    (echo 0 >"/proc/$behind/autogroup") 2>/dev/null
    for _ in first "its children meanwhile"; do
        for process in $(ps -o pid= -s "$behind" 2>/dev/null); do
            chrt -a -o -p 0 "$process" 2>/dev/null
        done
    done
}
