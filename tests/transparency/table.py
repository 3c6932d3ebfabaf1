"""The situations, as data: axes, and blocks that say which combinations are run. A situation is named
BLOCK/program/what differs/interpreter.

Words in commands: {run} is gpuprof with its options, or nothing; a command without it has it in front.
{python} is the interpreter, {flags} its flags, {script} the program and its arguments, {name} the program's module.
"""
import os
import resource

# name: (file and arguments, modules that it needs, what its profile must hold: "steps", "batches" or nothing)
PROGRAMS = {
    # plain Python
    "look": ("look.py", (), ""),
    "environment": ("environment.py", (), ""),
    "processes": ("processes.py", (), ""),
    "threads": ("threads.py", (), ""),
    "imports": ("imports.py", (), ""),
    "ends": ("ends.py", (), ""),
    "raises": ("raises.py", (), ""),
    "waits": ("waits.py", (), ""),
    "saver": ("waits.py twice", (), ""),
    # plain PyTorch
    "loop": ("loop.py", ("torch",), "steps"),
    "loop, 2 forked workers": ("loop.py --workers 2 --context fork", ("torch",), "batches"),
    "loop, 2 spawned workers": ("loop.py --workers 2 --context spawn", ("torch",), "batches"),
    "loop, workers that stay": ("loop.py --workers 2 --persistent", ("torch",), "batches"),
    "loop, IterableDataset": ("loop.py --iterable --workers 1", ("torch",), "batches"),
    "optimizers": ("optimizers.py", ("torch",), "steps"),
    "LBFGS, own optimizers": ("optimizers.py own", ("torch",), "steps"),
    "schedulers": ("schedulers.py", ("torch",), "steps"),
    "mixed precision": ("amp.py", ("torch",), "steps"),
    "hooks, checkpointing": ("hooks.py", ("torch",), "steps"),
    "compile eager": ("compiled.py eager", ("torch>=2",), "steps"),
    "compile aot_eager": ("compiled.py aot_eager", ("torch>=2",), "steps"),
    "compile inductor": ("compiled.py inductor", ("torch>=2",), "steps"),
    "jit": ("jit.py", ("torch",), ""),
    "fx, export": ("graphs.py", ("torch",), ""),
    "torch.profiler": ("profiled.py", ("torch",), "steps"),
    "ddp by spawn": ("ddp.py spawn", ("torch",), "steps"),
    "ddp": ("ddp.py", ("torch>=2",), "steps"),  # torchrun of older ones fails by itself
    "subclasses": ("subclasses.py", ("torch",), "steps"),
    "pickles": ("pickles.py", ("torch",), ""),
    "patching": ("patching.py", ("torch",), ""),
    "tensors": ("tensors.py", ("torch",), ""),
    "evaluation": ("evaluation.py", ("torch",), "batches"),
    "errors": ("errors.py", ("torch",), ""),
    "warnings": ("warned.py", ("torch",), ""),
    "look at torch": ("look.py torch", ("torch",), ""),
    "interrupt in a loader": ("interrupted.py", ("torch",), ""),
    # frameworks
    "accelerate": ("accelerate_loop.py", ("accelerate",), "steps"),
    "fabric": ("fabric_loop.py", ("lightning",), "steps"),
    "lightning": ("lightning_fit.py", ("lightning",), "steps"),
    "lightning, progress bar": ("lightning_fit.py bar", ("lightning",), "steps"),
    "transformers": ("transformers_fit.py", ("transformers", "accelerate"), "steps"),
    "timm": ("timm_loop.py", ("timm", "torchvision"), "steps"),
    "torchvision": ("vision_loop.py", ("torchvision",), "steps"),
}
for part in ("optim", "tensor", "data", "module", "autograd", "amp", "cuda", "functions", "source"):
    PROGRAMS["inspect " + part] = ("inspected.py " + part, ("torch",), "")

# how programs of PyTorch end by themselves, where that is not 0
ENDS = {"errors": 1, "interrupt in a loader": -2}

LAUNCHERS = {
    "python": "{python} {flags} {script}",
    "-m": "{python} -m {name}",
    "-c": "{python} -c 'import runpy; runpy.run_path(\"{name}.py\", run_name=\"__main__\")'",
    "stdin": "sh -c '{run} {python} - <{name}.py'",
    "stdin of gpuprof's program": "sh -c 'cat {name}.py | {run} {python}'",
    "env": "env A=1 {python} {script}",
    "env before gpuprof": "env A=1 {run} {python} {script}",
    "env -i": "env -i HOME=/nowhere PATH=/usr/bin:/bin {python} {script}",
    "sh -c": "sh -c '{python} {script}; echo status $?'",
    "sh -c before gpuprof": "sh -c '{run} {python} {script}; echo status $?'",
    "exec": "sh -c 'exec {python} {script}'",
    "in the background": "sh -c '{run} {python} {script} & wait $!; echo status $?'",
    "pipe": "sh -c '{run} {python} {script} 2>&1 | cat -A'",
    "command substitution": "sh -c 'x=$({run} {python} {script}); echo \"$x\"'",
    "bash, pipefail": "bash -o pipefail -c '{run} {python} {script} | cat; echo ${{PIPESTATUS[0]}}'",
    "xargs": "sh -c 'echo {script} | xargs {run} {python}'",
    "xargs -P 2": "sh -c 'echo {script} | {run} xargs -P 2 {python}'",
    "nohup": "nohup {run} {python} {script}",
    "nohup in gpuprof": "nohup {python} {script}",
    "timeout": "timeout 200 {run} {python} {script}",
    "timeout in gpuprof": "timeout 200 {python} {script}",
    "setsid": "setsid -w {run} {python} {script}",
    "setsid in gpuprof": "setsid -w {python} {script}",
    "nice": "nice -n 5 {run} {python} {script}",
    "stdbuf": "stdbuf -o0 {python} {script}",
    "make": "sh make.sh '{run}' {python} {script}",
    "subprocess": "{python} start.py subprocess {script}",
    "os.execv": "{python} start.py execv {script}",
    "os.posix_spawn": "{python} start.py posix_spawn {script}",
    "os.fork": "{python} start.py fork {script}",
    "multiprocessing fork": "{python} start.py fork_context {script}",
    "multiprocessing spawn": "{python} start.py spawn {script}",
    "multiprocessing forkserver": "{python} start.py forkserver {script}",
    "emptied environment": "{python} start.py emptied {script}",
    "shebang": "sh -c 'exec {run} ./shebang.sh {python} {script}'",
    "zipapp": "sh zipped.sh '{run}' {python} {name}",
    "sitecustomize of the user": "sh customized.sh path '{run}' {python} {script}",
    "usercustomize and .pth": "sh customized.sh user '{run}' {python} {script}",
    "PYTHONPATH empty": "env PYTHONPATH=: {run} {python} {script}",
    "virtual environment": "sh in_venv.sh '{run}' {python} {script}",
    "terminal": "{python} in_terminal.py {run} {python} {script}",
    "stdout closed": "sh -c '{run} {python} {script} >&-; echo status $? >&2'",
    "stdin closed": "sh -c '{run} {python} {script} <&-; echo status $?'",
    "with a status line": "{loud} {python} {script}",
}
# always in a sample (--sample): what was broken once
ALWAYS = ("frameworks/accelerate/*", "frameworks/fabric/*", "frameworks/lightning/*", "frameworks/transformers/*", "frameworks/patching/*",
          "frameworks/inspect optim/*", "signals/saver/TERM twice to the group/*", "signals/saver/TERM to the group/*", "tracers/loop/settrace/system")
# torchrun leaves a folder of a name that is never the same, and says nothing of it
TIDY = "sh -c '{}; status=$?; rm -rf \"$TMPDIR\"/torchelastic_*; exit $status'"
TORCHRUN = "{python} -m torch.distributed.run --standalone --nproc_per_node 2"
RANKS = {
    "torchrun": TIDY.replace("{}", "{run} " + TORCHRUN + " {script}"),
    "torchrun before gpuprof": TIDY.replace("{}", TORCHRUN + " --no_python {run} {python} {script}"),
    "accelerate launch": "{python} -m accelerate.commands.launch --cpu --num_processes 1 --num_machines 1 "
                         "--mixed_precision no --dynamo_backend no {script}",
}

FLAGS = {  # flags: variables
    "-I": {}, "-E": {}, "-S": {}, "-s": {}, "-B": {}, "-O": {}, "-OO": {}, "-u": {}, "-b": {}, "-q": {}, "-v": {},
    "-W error": {}, "-W always": {}, "-X dev": {}, "-X importtime": {}, "-X faulthandler": {}, "-X utf8": {},
    "-X tracemalloc=5": {}, "-X frozen_modules=off": {}, "-X no_debug_ranges": {}, "-I -S -B": {}, "-P": {},
    "PYTHONHASHSEED=7": {"PYTHONHASHSEED": "7"}, "PYTHONMALLOC=debug": {"PYTHONMALLOC": "debug"},
    "PYTHONSAFEPATH=1": {"PYTHONSAFEPATH": "1"}, "PYTHONWARNINGS=error": {"PYTHONWARNINGS": "error"},
    "PYTHONDONTWRITEBYTECODE=1": {"PYTHONDONTWRITEBYTECODE": "1"}, "PYTHONUNBUFFERED=1": {"PYTHONUNBUFFERED": "1"},
    "PYTHONNOUSERSITE=1": {"PYTHONNOUSERSITE": "1"}, "PYTHONOPTIMIZE=1": {"PYTHONOPTIMIZE": "1"},
    "PYTHONFAULTHANDLER=1": {"PYTHONFAULTHANDLER": "1"}, "PYTHONDEVMODE=1": {"PYTHONDEVMODE": "1"},
    "PYTHONPYCACHEPREFIX": {"PYTHONPYCACHEPREFIX": "cache"}, "LC_ALL=C": {"LC_ALL": "C", "PYTHONUTF8": "0"},
}

TRACERS = {
    "coverage": "sh covered.sh '{run}' {python} {script}",
    "cProfile": "{python} under.py cprofile {script}",
    "settrace": "{python} under.py settrace {script}",
    "setprofile": "{python} under.py setprofile {script}",
    "threading.settrace": "{python} under.py threads {script}",
    "tracemalloc": "{python} under.py tracemalloc {script}",
    "sys.monitoring": "{python} under.py monitoring {script}",
    "trace": "{python} under.py trace {script}",
    "frames": "{python} under.py frames {script}",
    "audit hook": "{python} under.py audit {script}",
    "faulthandler": "{python} -X faulthandler under.py faulthandler {script}",
    "pdb": "{python} -m pdb -c 'b train.py:9' -c c -c bt -c 'p sorted(locals())' -c 'cl 1' -c c -c q train.py",
    "gdb": "sh debugged.sh gdb '{run}' {python} {script}",
    "strace": "sh debugged.sh strace '{run}' {python} {script}",
}

# signals: where they go, which, and the file that the program makes when it may be sent
SIGNALS = {
    "TERM": [("process", "TERM", "ready")],
    "TERM to the group": [("group", "TERM", "ready")],
    "INT to the group": [("group", "INT", "ready")],
    "HUP to the group": [("group", "HUP", "ready")],
    "USR1": [("process", "USR1", "ready")],
    "USR1 to the group": [("group", "USR1", "ready")],
    "USR2 to the group": [("group", "USR2", "ready")],
    "WINCH to the group": [("group", "WINCH", "ready")],
    "QUIT": [("process", "QUIT", "ready")],
    "TERM twice": [("process", "TERM", "ready"), ("process", "TERM", "got1")],
    "TERM twice to the group": [("group", "TERM", "ready"), ("group", "TERM", "got1")],
    "USR1, then TERM to the group": [("group", "USR1", "ready"), ("group", "TERM", "got1")],
}
SIGNAL_LAUNCHERS = {
    "by timeout": "timeout -s TERM 4 {run} {python} {script}",
    "by timeout in gpuprof": "timeout -s TERM 4 {python} {script}",
    "by a shell's job control": "bash kills.sh '{run}' {python} {script}",
}
DEATHS = ("TERM to the group", "INT to the group", "QUIT", "TERM")  # of a program without a handler

SHELL = {
    "sh": "sh shell.sh", "bash": "bash shell.sh", "env": "env", "env, sorted": "sh -c 'env | sort'",
    "descriptors": "sh -c 'ls /proc/self/fd; ls /proc/self/fd | wc -l'", "limits": "sh -c 'ulimit -a; umask'",
    "a missing program": "sh -c 'no-such-program; echo $?'", "true": "true", "false": "false",
    "cat": "cat", "awk": "awk 'BEGIN {{ for (i = 0; i < 1000; i++) s += i; print s; exit 3 }}'",
    "signal mask": "grep -E ^Sig[^Q] /proc/self/status", "parallel writers": "bash writers.sh",
    "trap and wait": "bash traps.sh", "once only": "bash -c ./once_only.sh", "kill -9 $$": "sh -c 'echo here; kill -KILL $$'",
    "arguments": "sh -c 'printf \"<%s>\" \"$@\"' name 'a b' '' --steps '*' -- --help",
    "find and tar": "sh -c 'tar cf - *.sh | tar tf - | sort'", "perl": "perl -e 'print map {{ $_, qq(=\\n) }} sort keys %ENV'",
}
C_PROGRAMS = {  # file of programs/: modes
    "c_process": ("environment", "threads", "fork", "vfork", "exec", "descriptors", "signals", "limits", "dlopen",
                  "abort", "segv", "_exit", "closeall", "maps"),
}
# tests/agent/programs/leave.c. Who may lock little memory (docs/known-issues.md) cannot try "lock".
LOCKS = os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY
LEAVE = ("threads", "main", "function", "cancel", *(["lock"] if LOCKS else []), "lowest", "short", "confined")
# a small stack, and files so small that there is no room for a spool; of gpuprof, too, or of the program alone
LIMITS = {"ulimit -s 64": "bash -c 'ulimit -s 64; {run} sh trainer.sh {bin}/train_conv --steps 3 --batch 8'",
          "ulimit -s 64, in gpuprof": "bash -c 'ulimit -s 64; exec sh trainer.sh {bin}/train_conv --steps 3 --batch 8'",
          "ulimit -f 100, in gpuprof": "bash -c 'ulimit -f 100; exec sh trainer.sh {bin}/train_conv --steps 3 --batch 8'"}
VIRTUAL = {  # the trainers of reference_workloads on the virtual GPU, times scrubbed
    "train_conv": "sh trainer.sh {bin}/train_conv --steps 6 --batch 8", "train_amp": "sh trainer.sh {bin}/train_amp --steps 4",
    "train_gpt": "sh trainer.sh {bin}/train_gpt --steps 4", "train_conv, wrong option": "sh trainer.sh {bin}/train_conv --batch none",
    "train_conv, its list": "sh trainer.sh {bin}/train_conv --defect list", **{f"leave, {how}": f"{{bin}}/agent_leave {how}" for how in LEAVE}, **LIMITS,
}
VIRTUAL_IDLE = ("train_conv, wrong option", "train_conv, its list", "ulimit -f 100, in gpuprof", *(f"leave, {how}" for how in LEAVE))  # these launch no kernel
