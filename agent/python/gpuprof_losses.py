"""The losses at which the backward passes begin, for `gpuprof try`, which sets GPUPROF_LOSSES=N: the first N.

They are read when the program ends, because reading one waits for the GPU."""
import atexit
import os

facts = hook.here["facts"]
kept = []
most = int(os.environ["GPUPROF_LOSSES"])
owner = os.getpid()  # a forked worker inherits what is kept here


@hook.guarded
def keep(*args, **__):
    roots = next((some for some in args if isinstance(some, (tuple, hook.torch.Tensor))), ())
    for tensor in roots if isinstance(roots, tuple) else (roots,):
        if len(kept) < most and isinstance(tensor, hook.torch.Tensor) and tensor.numel() == 1:
            kept.append(tensor.detach())


@hook.guarded
def tell():
    if kept and os.getpid() == owner:
        hook.fact(facts.TORCH_LOSSES, " ".join(repr(float(loss)) for loss in kept))


atexit.register(tell)
