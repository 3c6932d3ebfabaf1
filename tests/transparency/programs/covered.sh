# covered.sh RUN PYTHON SCRIPT...: coverage's report, of all files that it saw; its database holds times
run=$1 python=$2
shift 2
$run "$python" -m coverage run --branch --timid "$@"
echo "status $?"
"$python" -m coverage report -m
rm -f .coverage
