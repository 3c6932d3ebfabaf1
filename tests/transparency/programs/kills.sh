# kills.sh RUN COMMAND...: a job of a shell with job control, signalled as a group
set -m
run=$1
shift
$run "$@" &
while [ ! -e ready ]; do sleep 0.05; done
kill -TERM %1
wait %1
echo "status $?"
