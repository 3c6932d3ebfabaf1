"""torch.compile: what was asked of it, and steps that stay visible when it has taken PyTorch's own
wrapper off them."""
import types

fact, wrap, guarded, torch = hook.fact, hook.wrap, hook.guarded, hook.torch


def note_compile(*args, **kwargs):
    """Before anything is compiled: what the compiler would trace is as it was without us."""
    shown = ", ".join(f"{k}={v!r}" for k, v in kwargs.items()
                      if k in ("mode", "backend", "dynamic", "fullgraph") and v is not None)
    fact("torch.compile", f"torch.compile({shown}) at {hook.user_place()}")
    for undo in hook.undo_at_compile:
        undo()


left_bare = {}  # class of optimizer: its step, as it is now and as the compiler had left it
traces_steps = False


@guarded
def note_compiled(*args, **kwargs):
    """torch.compile takes PyTorch's wrapper off the step of every class of optimizer, and with it the
    call that tells us of steps. It comes back, unless what is compiled may take a step itself: then the
    compiler is to find there what it left."""
    global traces_steps
    what = args[0] if args else kwargs.get("model")
    if what is None:  # a decorator, which will call again
        return
    traces_steps |= may_take_step(what)
    if not traces_steps:
        wrap_steps(torch.optim.Optimizer)
        return
    for cls, (made, bare) in left_bare.items():
        if vars(cls).get("step") is made:
            cls.step = bare
    left_bare.clear()


def may_take_step(what):
    """A module does not. A function does that names a step, or calls one of the program's that does;
    so may whatever is none of these."""
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


def wrap_steps(base):
    if not hasattr(base, "profile_hook_step"):
        return
    as_made = base.profile_hook_step(lambda self: None).__code__
    classes = base.__subclasses__()
    while classes:
        cls = classes.pop()
        classes += cls.__subclasses__()
        bare = vars(cls).get("step")
        if getattr(bare, "hooked", False) and getattr(bare, "__code__", None) is not as_made:
            cls.step = made = base.profile_hook_step(bare)
            made.hooked = True
            left_bare[cls] = made, bare


def hook_compile():
    if hasattr(torch, "compile"):
        wrap(torch, "compile", hook.AFTER, note=note_compiled)
        if not hook.only_steps:
            wrap(torch, "compile", hook.NOTE, note=guarded(note_compile))
