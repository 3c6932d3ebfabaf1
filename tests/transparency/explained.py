"""The one place for differences that are known and have a reason: what a program can see of gpuprof.

A run fails when an explanation was not needed any more by any of the situations that it names, so the list cannot rot.
"""
import dataclasses
import fnmatch
import re


@dataclasses.dataclass(frozen=True)
class Explanation:
    name: str
    situations: tuple  # patterns of fnmatch, of situations' names
    line: str  # regular expression, of a line of compare.differences()
    reason: str

    def names(self, situation):
        return any(fnmatch.fnmatchcase(situation, pattern) for pattern in self.situations)

    def covers(self, line):
        return re.search(self.line, line) is not None


PRINTING = ("*environment*", "shell/env*", "shell/perl", "*look*", "c/c_process/environment*")
OURS = "LD_PRELOAD|GPUPROF_DIR|GPUPROF_PYTHON|GPUPROF_RECORDER|GPUPROF_WINDOW|CUDA_INJECTION64_PATH|NVTX_INJECTION64_PATH|ASAN_OPTIONS"

EXPLAINED = (
    Explanation("variables of the environment", PRINTING, rf"^stdout (\+ '(environment: )?({OURS})|- '(environment: )?LD_PRELOAD)=",
                "The loader brings the agent into each process by `LD_PRELOAD`, and the CUDA driver and NVTX by their own variables; the agent "
                "learns from `GPUPROF_DIR` where to record, from `GPUPROF_RECORDER` which process samples Python's lines, and from "
                "`GPUPROF_WINDOW` what to record. Children inherit them, so they must be in the environment."),
    Explanation("a library more", ("c/c_process/maps*",), r"^stdout \+ 'libgpuprof_agent\.so",
                "The agent is a library in the process, and a program that lists its libraries sees it."),
    Explanation("status lines", ("launchers/*/with a status line/*",), r"^stderr \+ .gpuprof: ",
                "Without `-q`, gpuprof's own lines go to stderr; each starts with `gpuprof: `."),
    Explanation("a codec in development mode", ("flags/look/-X dev/*", "flags/look/PYTHONDEVMODE=1/*"), r"^stdout \+ 'module [a-z ]+: encodings\.ascii",
                "In development mode Python looks up the codec of every text that is decoded, also of the hook's, and keeps the module."),
    Explanation("a callback of the garbage collector", ("frameworks/look at torch/*",), r"^stdout [-+] [\"']gc callbacks: ",
                "`gc.callbacks` has one entry more once PyTorch is imported, a function in C: there is no other way to learn of its pauses."),
    Explanation("the hook's own objects", ("frameworks/inspect source/*",), r"^stdout [-+] .\[('Autocast')?\]",
                "The hook's objects are in the program's memory, so a walk over `gc.get_objects()` meets them."),
    Explanation("what is kept of the first time", ("tracers/loop/tracemalloc/*",), r"^stdout [-+] 'seen allocates .*(/torch/|/gpuprof_)",
                "When something is seen for the first time, the hook asks PyTorch for its settings, and keeps a few hundred bytes. What PyTorch "
                "keeps of the answer is counted to its own lines, the rest to the hook's; steps add nothing."),
    Explanation("frames of the hook", ("tracers/loop/frames/*",), r"^stdout \+ 'seen frame .*gpuprof_",
                "At the moment in which something is seen for the first time, Python of the hook runs; a thread that walks the frames of all "
                "threads just then meets it. Tracers and profilers do not."),
    Explanation("times of imports", ("flags/*/-X importtime/*",), r"^stderr [-+] 'import time: ",
                "`-X importtime` prints times, which are never the same, and the import of `sitecustomize`. The program's own lines are compared."),
    Explanation("what `-v` says", ("flags/*/-v/*",), r"^stderr [-+] [\"'](import |# |Python |Type \")",
                "`-v` prints addresses and files as the interpreter starts. The program's own lines are compared."),
)
