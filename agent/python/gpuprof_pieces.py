"""With GPUPROF_MEMORY=1: each piece of memory that PyTorch's allocator gives out up to the thirtieth backward
pass, to a failure, or to the program's end, with the line that asks. PyTorch itself notes them, with the
stack of each (its memory history); the hook reads what it noted once, and ends that. A program that keeps the history
itself is left alone."""
import atexit
import os
import time

agent, guarded, encoded, torch = hook.agent, hook.guarded, hook.encoded, hook.torch

MOST = 100000  # pieces; PyTorch drops the oldest beyond
AT_ONCE = 2000  # pieces: 150 KB of a ring's MiB, which the recorder reads within PAUSE_S
PAUSE_S = 0.02
library = os.path.dirname(os.__file__) + os.sep
running = 0  # the process in which PyTorch keeps the history for us
switching = False  # we are turning it on or off
OWN, PACKAGE, OPTIMIZER, BACKWARD, OTHER = range(5)  # whose frame it is; the middle ones are PyTorch's
places = {}  # by id of a frame, which PyTorch shares between stacks: the frame, whose it is, and file, function, line


def switch(on):
    global running, switching
    switching = True
    if on:
        torch.cuda.memory._record_memory_history(enabled="all", context="alloc", stacks="python", max_entries=MOST)
    else:
        torch.cuda.memory._record_memory_history(enabled=None)
    running, switching = os.getpid() if on else 0, False


@guarded
def begin(*_):
    switch(True)


@guarded
def note_others(*_, **__):
    """The program turns the history on or off: it is the program's from now on."""
    global running
    if running and not switching:
        running = 0
        agent.gpuprof_hook_health(b"python-hook", b"the program keeps PyTorch's memory history itself, so the memory "
                                                  b"that each line asks for is not recorded")


def whose(path):
    if path.startswith(hook.torch_folder):
        part = path[len(hook.torch_folder):].split(os.sep)[0]
        return {"optim": OPTIMIZER, "autograd": BACKWARD}.get(part, OTHER)
    if path.startswith((hook.FOLDER, "<")):
        return OTHER
    if any(part in path for part in hook.INSTALLED):  # they may lie in Python's own folder
        return PACKAGE
    return OTHER if path.startswith(library) else OWN


def place(frame):
    known = places.get(id(frame))
    if not known or known[0] is not frame:
        path = frame["filename"]
        known = places[id(frame)] = frame, whose(path), (encoded(path), encoded(frame["name"]), frame["line"])
    return known[1:]


def asked(frames):
    """Whose frames lie below the program's innermost one; its place; the place of the innermost package below it. None: there is none."""
    below, package = set(), None
    for frame in frames:
        owner, where = place(frame)
        if owner == OWN:
            return below, where, package
        below.add(owner)
        package = package or (where if owner == PACKAGE else None)
    return below, None, package


def loop_calls(entries):
    """Lines in which a library runs the loop: both a backward pass and an optimizer run below, called by a package. They
    say nothing of what asks."""
    seen = {}
    for entry in entries:
        below, where, package = asked(entry.get("frames", ()))
        if where and package:
            seen.setdefault(where, set()).update(below)
    return {where for where, below in seen.items() if {OPTIMIZER, BACKWARD} <= below}


def line_of(frames, loops):
    """file, function and line of the program that ask, or of the library that runs its loop; a backward pass has none."""
    _, where, package = asked(frames)
    return (package if where in loops else where) or where or (b"", b"", 0)


def changes(entries):
    """Of each entry of the history that changes it: in use, held, and how much of the first."""
    signs = {"alloc": (1, 0), "free_completed": (-1, 0), "segment_alloc": (0, 1), "segment_map": (0, 1),
             "segment_free": (0, -1), "segment_unmap": (0, -1)}
    for entry in entries:
        piece, segment = signs.get(entry["action"], (0, 0))
        if piece or segment:
            yield entry, piece * entry["size"], segment * entry["size"]


def dropped(entries, blocks):
    """Entries for the pieces that are still given out, of which PyTorch has dropped the entry; it keeps their stacks."""
    known = {entry["addr"] for entry in entries if entry["action"] == "alloc"}
    time_us = entries[0]["time_us"] if entries else time.time_ns() // 1000
    return [{"action": "alloc", "addr": b["address"], "size": b["requested_size"], "time_us": time_us, "frames": b.get("frames", ())}
            for b in blocks if b["address"] not in known]


def tell(device, entries, segments):
    """What is in use and held at the end is known, so what was before the first entry follows."""
    blocks = [b for s in segments for b in s["blocks"] if b["state"].startswith("active")]
    steps = list(changes(dropped(entries, blocks) + entries))
    in_use = sum(b["requested_size"] for b in blocks) - sum(piece for _, piece, _ in steps)
    held = sum(s["total_size"] for s in segments) - sum(segment for _, _, segment in steps)
    loops = loop_calls(entry for entry, piece, _ in steps if piece > 0)
    to_monotonic = time.monotonic_ns() - time.time_ns()
    for n, (entry, piece, segment) in enumerate(steps):
        in_use += piece
        held += segment
        if piece:
            agent.gpuprof_hook_piece(device, entry["time_us"] * 1000 + to_monotonic, piece, entry["addr"], in_use, held,
                                     *line_of(entry.get("frames", ()) if piece > 0 else (), loops))
        if n % AT_ONCE == AT_ONCE - 1:
            time.sleep(PAUSE_S)


@guarded
def take():
    if running != os.getpid() or not hook.here["memory"].works():  # a forked child has no use of the GPU
        return
    begin_ns = time.monotonic_ns()
    snapshot = torch.cuda.memory._snapshot()
    switch(False)
    for device, entries in enumerate(snapshot["device_traces"]):
        tell(device, entries, [s for s in snapshot["segments"] if s["device"] == device])
    places.clear()
    agent.gpuprof_hook_range(b"gpuprof.memory", begin_ns, time.monotonic_ns(), 1)


def hook_pieces():
    """The history can be kept once PyTorch has begun with CUDA."""
    in_c = getattr(torch, "_C", None)
    if hasattr(in_c, "_cuda_init"):
        hook.wrap(torch.cuda.memory, "_record_memory_history", hook.NOTE, note=note_others)
        hook.once(in_c, "_cuda_init", begin, hook.AFTER)
        atexit.register(take)
