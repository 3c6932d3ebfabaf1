# in_venv.sh RUN PYTHON SCRIPT...: the program in a virtual environment made from that interpreter
run=$1 python=$2
shift 2
"$python" -S -m venv --without-pip --system-site-packages env >/dev/null || exit 9
$run env/bin/python "$@"
status=$?
rm -rf env
exit $status
