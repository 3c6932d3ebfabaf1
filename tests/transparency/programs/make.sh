# make.sh RUN PYTHON SCRIPT...: a recipe of make
run=$1
shift
printf 'all: first second\nfirst:\n\t@echo first; %s\nsecond:\n\t@echo second\n' "$run $*" >launch.mk
make -s -f launch.mk
status=$?
rm launch.mk
exit $status
