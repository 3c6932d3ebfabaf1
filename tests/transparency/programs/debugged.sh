# debugged.sh gdb|strace RUN COMMAND...: under a debugger; its own lines hold addresses and numbers of processes
tool=$1 run=$2
shift 2
case $tool in
    gdb) $run gdb -nx -batch -q -ex 'set debuginfod enabled off' -ex 'set print thread-events off' -ex run -ex bt --args "$@" 2>err.gdb |
        sed -e 's/process [0-9]*/process/' -e '/^\[/d' -e '/libthread_db/d' -e '/^warning: /d'
        rm -f err.gdb ;;
    strace) $run strace -f -o calls "$@"
        echo "status $?"
        grep -c 'exited with 0' calls
        rm -f calls ;;
esac
