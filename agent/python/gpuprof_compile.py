"""torch.compile: records how the program called it, and keeps steps visible after it has removed
PyTorch's own wrapper from them."""
import sys
import types

facts = hook.here["facts"]
fact, guarded, torch, agent = hook.fact, hook.guarded, hook.torch, hook.agent


def note_compile(*args, **kwargs):
    """Called before PyTorch compiles: removes what the hook has added, so that the compiler traces
    the program as it is without it."""
    shown = ", ".join(f"{k}={v!r}" for k, v in kwargs.items()
                      if k in ("mode", "backend", "dynamic", "fullgraph") and v is not None)
    fact(facts.TORCH_COMPILE, f"torch.compile({shown}) at {hook.user_place()}")
    for undo in hook.undo_at_compile:
        undo()


# Step function of an optimizer class, as the compiler left it: a function that ends the watch.
bare_steps = {}
traces_steps = False
told_frames = False


def watch_frames():
    """Watches Dynamo's compilation of frames: after it, watched functions may change their type
    again."""
    global told_frames
    module = sys.modules.get("torch._dynamo.convert_frame")
    if module and not told_frames:
        told_frames = True
        hook.watch(getattr(module, "_compile", None), "_compile", hook.COMPILES, b"", stays=True)


@guarded
def note_compiled(*args, **kwargs):
    """Older PyTorch, when it compiles, removes its wrapper from the step of every optimizer class,
    and with it what shows steps to the hook. The step function itself is watched then. In Python
    3.11 a watched function has another type (hook_type.c), so it is not watched if the compiled
    code may call a step."""
    global traces_steps
    watch_frames()
    what = args[0] if args else kwargs.get("model")
    if what is None:  # used as a decorator, which will call again
        return
    by_type = sys.version_info[:2] == (3, 11)
    traces_steps |= by_type and may_take_step(what)
    agent.gpuprof_hook_steps_stay(not traces_steps)
    if not traces_steps:
        watch_steps(torch.optim.Optimizer)
        return
    for undo in bare_steps.values():
        undo()
    bare_steps.clear()


def may_take_step(what):
    """True if compiled code may call an optimizer's step. A module does not. A function may if it
    names a step, or calls a function of the program that does; so may any other callable."""
    if isinstance(getattr(what, "__self__", what), torch.nn.Module):
        return False
    if type(what) is not types.FunctionType:
        return True
    found, seen = [what], {what}
    while found:
        function = found.pop()
        codes, named = [function.__code__], [cell.cell_contents for cell in function.__closure__ or ()
                                             if cell != types.CellType()]
        while codes:
            code = codes.pop()
            if "step" in code.co_names:
                return True
            codes += [const for const in code.co_consts if type(const) is types.CodeType]
            named += [function.__globals__.get(name) for name in code.co_names]
        for one in named:
            if (type(one) is types.FunctionType and one not in seen
                    and not one.__code__.co_filename.startswith(hook.torch_folder)):
                seen.add(one)
                found.append(one)
    return False


def watch_steps(base):
    if not hasattr(base, "profile_hook_step"):
        return
    as_made = base.profile_hook_step(lambda self: None).__code__
    label = b"" if hook.only_steps else b"optimizer.step"
    classes = base.__subclasses__()
    while classes:
        cls = classes.pop()
        classes += cls.__subclasses__()
        bare = vars(cls).get("step")
        if (getattr(bare, "hooked", False) and getattr(bare, "__code__", None) is not as_made
                and bare not in bare_steps):
            bare_steps[bare] = hook.watch(bare, "step", hook.STEP, label,
                                          hook.here["train"].first_step, stays=True)


def hook_compile():
    if not hasattr(torch, "compile"):
        return
    hook.watch(torch.compile, "compile", hook.AFTER, b"compile", note_compiled, stays=True)
    if not hook.only_steps:
        hook.watch(torch.compile, "compile", hook.NOTE, b"compile", guarded(note_compile), stays=True)
    dynamo = getattr(getattr(torch, "_C", None), "_dynamo", None)
    switch = getattr(getattr(dynamo, "eval_frame", None), "set_eval_frame", None)
    if switch:
        hook.watch(switch, "set_eval_frame", hook.COMPILER, b"")
    else:
        hook.undo_at_compile.append(agent.gpuprof_hook_compiling)
