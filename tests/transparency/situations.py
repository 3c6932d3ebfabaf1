"""Makes the situations out of the table: which combinations are run, and why the others are not."""
import dataclasses
import os
import shlex
import shutil

import table

FIRST = ("look", "environment")  # what the axes are crossed with in plain Python


@dataclasses.dataclass(frozen=True)
class Situation:
    name: str
    axes: tuple  # (axis, value) for the summary
    command: str
    script: str = ""
    flags: str = ""
    python: object = None
    variables: tuple = ()
    steps: tuple = ()  # signals, world.send()
    sees: str = ""
    skip: str = ""
    ends: object = None  # the status without gpuprof; None: any

    def words(self, build, run, loud):
        """The command, with gpuprof's words where it says {run}, or in front."""
        command = self.command if "{run}" in self.command or "{loud}" in self.command else "{run} " + self.command
        python = self.python.path if self.python else ""
        file, _, rest = self.script.partition(" ")
        filled = command.format(run=run, loud=loud, python=python, flags=self.flags, script=f"{file} {rest}".strip(),
                                name=file.rpartition(".")[0], bin=os.path.join(build, "bin"))
        return shlex.split(filled)


def missing(python, needs, command, flags=""):
    """Why a combination is not run, or nothing."""
    lacking = [n for n in needs if not python.has(n)]
    if lacking:
        return "no " + ", ".join(lacking)
    tool = next((t for t in ("gdb", "strace", "perl", "stdbuf", "bash") if t in command.split()), None)
    if tool and not shutil.which(tool):
        return "no " + tool
    version = python.version("python")
    if "coverage" in command and not python.has("coverage"):
        return "no coverage"
    if "monitoring" in command and version < (3, 12):
        return "sys.monitoring came with Python 3.12"
    for flag, since in (("-P", (3, 11)), ("PYTHONSAFEPATH=1", (3, 11)), ("-X frozen_modules=off", (3, 11)), ("-X no_debug_ranges", (3, 11))):
        if flag == flags and version < since:
            return f"{flag} came with Python {since[0]}.{since[1]}"
    return ""


def made(block, program, what, python, command, *, flags="", variables=(), steps=(), axes=(), sees=None):
    script, needs, expected = table.PROGRAMS[program]
    name = "/".join(part for part in (block, program, what, python.name) if part)
    axes = (("block", block), ("program", program), ("interpreter", python.name), *axes)
    return Situation(name, axes, command, script, flags, python, tuple(variables), tuple(steps),
                     expected if sees is None else sees, missing(python, needs, command, flags or what),
                     table.ENDS.get(program, 0) if block == "frameworks" else None)


def frameworks(pythons):
    """Every PyTorch program in every interpreter that has what it needs."""
    for program, (_, needs, _) in table.PROGRAMS.items():
        if not needs:
            continue
        for python in (p for p in pythons if p.has("torch")):
            if program == "ddp":
                yield made("frameworks", program, "torchrun", python, table.RANKS["torchrun"], axes=(("launcher", "torchrun"),))
            else:
                yield made("frameworks", program, "", python, table.LAUNCHERS["python"], axes=(("launcher", "python"),))


def versions(pythons):
    """Every program in plain Python, in every version."""
    for program, (_, needs, _) in table.PROGRAMS.items():
        if needs or program in ("waits", "saver"):
            continue
        for python in pythons:
            yield made("versions", program, "", python, table.LAUNCHERS["python"])


def launchers(pythons):
    plain = next((p for p in pythons if p.name == "system" or not p.has("torch")), pythons[-1])
    torches = [p for p in pythons if p.has("torch")]
    for launcher, command in table.LAUNCHERS.items():
        if launcher == "python":
            continue
        axes = (("launcher", launcher),)
        yield made("launchers", "look", launcher, plain, command, axes=axes)
        if torches:
            yield made("launchers", "loop", launcher, torches[-1], command, axes=axes, sees="")
    for python in torches:
        yield made("launchers", "ddp", "torchrun before gpuprof", python, table.RANKS["torchrun before gpuprof"],
                   axes=(("launcher", "torchrun before gpuprof"),), sees="")
        yield made("launchers", "accelerate", "accelerate launch", python, table.RANKS["accelerate launch"],
                   axes=(("launcher", "accelerate launch"),))


def flags(pythons):
    torches = [p for p in pythons if p.has("torch")]
    plain = [p for p in pythons if p.name in ("system", "3.8", "3.13")]
    for flag, variables in table.FLAGS.items():
        given = "" if variables else flag
        for program, chosen in (("look", plain), ("loop", [p for p in torches if p in (torches[0], torches[-1])])):
            for python in chosen:
                yield made("flags", program, flag, python, table.LAUNCHERS["python"], flags=given, variables=variables.items(),
                           axes=(("flag", flag),), sees="")


def tracers(pythons):
    torches = [p for p in pythons if p.has("torch")]
    plain = [p for p in pythons if p.name in ("system", "3.13")]
    for tracer, command in table.TRACERS.items():
        for python in plain:
            yield made("tracers", "raises", tracer, python, command, axes=(("tracer", tracer),))
        for python in torches:
            yield made("tracers", "loop", tracer, python, command, axes=(("tracer", tracer),), sees="")
    for python in torches:
        yield made("tracers", "optimizers", "cProfile", python, table.TRACERS["cProfile"], axes=(("tracer", "cProfile"),), sees="")


def signals(pythons):
    plain = [p for p in pythons if p.name in ("system", "3.13")][:1] or pythons[-1:]
    python = plain[0]
    command = table.LAUNCHERS["python"]
    for name, steps in table.SIGNALS.items():
        for program in ("waits", "saver"):
            yield made("signals", program, name, python, command, steps=steps, axes=(("signal", name),),
                       variables=(("SIGNALS", str(len(steps))),))
    for name, launcher in table.SIGNAL_LAUNCHERS.items():
        yield made("signals", "waits", name, python, launcher, axes=(("signal", name),))
    for name in table.DEATHS:
        yield Situation(f"signals/no handler/{name}/{python.name}", (("block", "signals"), ("signal", name)), command, "waits.py default",
                        "", python, (), tuple(table.SIGNALS[name]))


def others():
    """Shells, tools, C programs, and the trainers on the virtual GPU."""
    for name, command in table.SHELL.items():
        skip = "no perl" if command.startswith("perl") and not shutil.which("perl") else ""
        yield Situation(f"shell/{name}", (("block", "shell"), ("program", name)), command, skip=skip)
    lacking = "" if shutil.which("cc") else "no C compiler"
    for name, modes in table.C_PROGRAMS.items():
        for mode in modes:
            for how, command in (("", "./" + name), ("static", f"./{name}.static"), ("in a shell", f"sh -c './{name} {mode}; echo $?' ")):
                words = command if how == "in a shell" else f"{command} {mode}"
                yield Situation("/".join(p for p in ("c", name, mode, how) if p), (("block", "c"), ("program", f"{name} {mode}")), words, skip=lacking)
    for name, command in table.VIRTUAL.items():
        yield Situation(f"virtual GPU/{name}", (("block", "virtual GPU"), ("program", name)), command,
                        variables=(("CUDA_VISIBLE_DEVICES", None),), sees="virtual" if name in table.VIRTUAL_IDLE else "kernels")


def everything(pythons):
    found = []
    for block in (versions, launchers, flags, tracers, signals, frameworks):
        found += block(pythons)
    found += others()
    names = [s.name for s in found]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise RuntimeError(f"situations of the same name: {sorted(twice)}")
    return found
