"""Records how much of the GPU's memory PyTorch's allocator gives out, by what, and the allocation that
failed."""
import sys
import threading
import weakref

facts = hook.here["facts"]
fact, guarded = hook.fact, hook.guarded
torch = hook.torch

optimizers = []  # weak references
gradients = 0  # bytes of all that there were at once
failures = 0


def size(tensors):
    """Bytes on GPUs, each tensor once. A shard counts as what of it lies here."""
    unique = {id(t): getattr(t, "_local_tensor", t) for t in tensors if isinstance(t, torch.Tensor)}
    return sum(t.numel() * t.element_size() for t in unique.values() if t.is_cuda)


def works():
    """True once PyTorch has an allocator for GPUs that says something, except while it captures a graph: what we ask
    the driver then could end the capture."""
    cuda = getattr(torch, "cuda", None)
    asks = ("memory_stats", "mem_get_info", "is_current_stream_capturing")
    return all(hasattr(cuda, name) for name in asks) and cuda.is_initialized() and not cuda.is_current_stream_capturing()


def alive(references):
    return [one for one in (ref() for ref in references) if one is not None]


def parts():
    """Bytes of weights and buffers, of the gradients that are there, of the optimizers' states."""
    weights = [p for o in alive(optimizers) for group in o.param_groups for p in group["params"]]
    states = [t for o in alive(optimizers) for s in getattr(o, "state", {}).values() if isinstance(s, dict) for t in s.values()]
    for root in alive(hook.here["calls"].roots):
        weights += [*root.parameters(), *root.buffers()]
    return {"weights": size(weights), "gradients": size(p.grad for p in weights if p.grad is not None),
            "optimizer": size(states)}


def sums(device=None):
    """What the allocator of a device says. available: what this process has and can get."""
    stats = torch.cuda.memory_stats(device)
    free, total = torch.cuda.mem_get_info(device)
    held = stats["reserved_bytes.all.current"]
    return {"peak": stats["allocated_bytes.all.peak"], "allocated": stats["allocated_bytes.all.current"],
            "reserved": stats["reserved_bytes.all.peak"], "held": held, "available": free + held, "total": total}


def text_of(numbers):
    return ", ".join(f"{name}={value}" for name, value in numbers.items())


@guarded
def note_optimizer(optimizer):
    """Called behind an optimizer's first update: all gradients are there."""
    global gradients
    if not works():
        return
    optimizers.append(weakref.ref(optimizer))
    gradients = max(gradients, parts()["gradients"])


@guarded
def note_peak():
    """Called before a few backward passes, when all is there that the forward pass keeps for them. The peak is
    that of all steps before."""
    if optimizers and works():
        of_all, of = sums(), parts()
        forward = max(of_all["allocated"] - sum(of.values()), 0)
        fact(facts.TORCH_MEMORY, text_of({**of_all, **of, "gradients": max(gradients, of["gradients"]), "forward": forward}))


# ---- an allocation that fails -------------------------------------------------------------------

def module_of(frame):
    """The innermost module whose forward() runs: "layers.3 (Block)"."""
    while frame:
        module = frame.f_locals.get("self") if frame.f_code.co_name == "forward" else None
        if isinstance(module, torch.nn.Module):
            return hook.here["calls"].names.get(id(module)) or type(module).__name__
        frame = frame.f_back
    return ""


def place_of(frame):
    """Like user_place(), of any thread."""
    while frame:
        path = frame.f_code.co_filename
        if not path.startswith((hook.FOLDER, hook.torch_folder, "<frozen ")):
            return f"{hook.short(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


@guarded
def note_failure(device, asked, *_):
    """PyTorch calls this before it raises the error. In backward() its own thread asks, in which no line
    of the program runs: then the line counts that the main thread is in."""
    global failures
    failures += 1
    if not works():
        return
    if "pieces" in hook.here:
        hook.here["pieces"].take()
    frame = sys._getframe(1)
    place = place_of(frame)
    if not place:
        frame = sys._current_frames().get(threading.main_thread().ident)
        place = place_of(frame)
    inside = module_of(frame)
    fact(facts.TORCH_MEMORY_FAILED, text_of({"asked": asked, "times": failures, **sums(device)})
         + (f", in {inside}" if inside else "") + (f" at {place}" if place else ""))


def watch_failures(*_):
    attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
    if attach:
        attach(note_failure)


def hook_memory():
    """The observer can be attached once PyTorch has begun with CUDA."""
    in_c = getattr(torch, "_C", None)
    if hasattr(in_c, "_cuda_init"):
        hook.once(in_c, "_cuda_init", watch_failures, hook.AFTER)
