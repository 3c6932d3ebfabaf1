# customized.sh path|user RUN PYTHON SCRIPT...: the user has a sitecustomize on PYTHONPATH, or a usercustomize and a .pth file
how=$1 run=$2 python=$3
shift 3
if [ "$how" = path ]; then
    mkdir site
    printf 'import sys\nSEEN = (__name__, __file__, [p for p in sys.path if "gpuprof" in p], sys._getframe().f_back is None)\nprint("sitecustomize", SEEN)\n' >site/sitecustomize.py
    touch -d @1577836800 site/sitecustomize.py
    export PYTHONPATH=$PWD/site
else
    site=$("$python" -S -c 'import site; print(site.getusersitepackages())')
    mkdir -p "$site"
    printf 'SEEN = (__name__, __file__)\nprint("usercustomize", SEEN)\n' >"$site/usercustomize.py"
    touch -d @1577836800 "$site/usercustomize.py"
    printf 'import sys; print("pth", [p for p in sys.path if "gpuprof" in p], "sitecustomize" in sys.modules)\n' >"$site/mine.pth"
fi
exec $run "$python" "$@"
