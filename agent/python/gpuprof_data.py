"""Data loading: waits of the training thread, batches made and collated, pinning, start-up of
workers, settings, and what the first batch looks like.

Loaders are numbered from 1 in the order in which they are first looped over. A record says which
one it is about, and the facts torch.loader.NUMBER and torch.loader.NUMBER.* say what that one is."""
import functools
import multiprocessing
import os
import sys
import types
import weakref

fact, wrap, once, guarded = hook.fact, hook.wrap, hook.once, hook.guarded
apply = hook.here["apply"]
MOST = 32  # loaders that are told apart
made_at = {}  # id of a loader: the line that made it
made_by = {}  # id of a loader: the framework whose trainer made it
given = {}  # id of a dataset: a reference to it, and the program's line that first gave it to a loader
number_of = {}  # id of a loader, or what tells it from others (kind_of): its number
used = {}  # number: how many loaders have it
iterators = {}  # id of an iterator: the number of its loader


def own_place():
    """file:line of the innermost frame of the program's own files, else of the innermost frame
    outside PyTorch."""
    frame = sys._getframe(1)
    while frame:
        path = frame.f_code.co_filename
        if not (path.startswith((hook.FOLDER, hook.torch_folder, "<"))
                or "/site-packages/" in path or "/dist-packages/" in path):
            return f"{os.path.basename(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return hook.user_place()


def framework():
    """transformers, where its Trainer makes the loader that is being made: it has arguments of its own
    for what the loader gets."""
    frame = sys._getframe(1)
    while frame:
        path = frame.f_code.co_filename
        if path.endswith("/transformers/trainer.py"):
            return "transformers"
        if not path.startswith((hook.FOLDER, hook.torch_folder, "<")) and "-packages/" not in path:
            return None
        frame = frame.f_back
    return None


def line_of(dataset):
    """Where the program makes the loader that is being made: a library (Accelerate, Lightning) puts
    another in its place, of the same dataset and with its settings."""
    place = own_place()
    reference, line = given.get(id(dataset), (None, None))
    if hook.user_place() != place:  # a library's line
        return line if reference and reference() is dataset else place
    if not reference or reference() is not dataset:
        if len(given) >= 8 * MOST:
            given.clear()
        try:
            given[id(dataset)] = weakref.ref(dataset), place
        except TypeError:
            pass  # such as a list
    return place


# ---- what a loader is -------------------------------------------------------------------------

def batch_size_of(loader):
    """A library (Accelerate) hands over a sampler of batches, which knows their size. No property of
    the program's is asked."""
    known = getattr(getattr(loader, "batch_sampler", None), "__dict__", {}).get("batch_size")
    return loader.batch_size or (known if isinstance(known, int) else None)


def settings_of(loader):
    names = ("num_workers", "batch_size", "pin_memory")
    if loader.num_workers:
        names += ("prefetch_factor", "persistent_workers")
    values = ((n, batch_size_of(loader) if n == "batch_size" else getattr(loader, n, None)) for n in names)
    text = ", ".join(f"{n}={v}" for n, v in values)
    return f"{type(loader).__name__}({text})"


def kind_of(loader, made, place):
    """Tells a loader that is made anew for each loop from the others. Nothing of the program's is
    called for it: even a length may print, or take its time."""
    return (made, place, type(loader.dataset), type(getattr(loader, "sampler", None)), loader.batch_size,
            loader.num_workers)


def where_is(function):
    """NAME file:line of a function of the program's own; None for one of PyTorch's or in C."""
    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, (types.FunctionType, types.MethodType)):
        function = getattr(type(function), "__call__", None)
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename.startswith(hook.torch_folder):
        return None
    name = getattr(function, "__qualname__", code.co_name).replace("<locals>.", "")
    return f"{name} {os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def note_dataset(number, dataset):
    """The function that makes a sample, behind what only picks from another dataset."""
    inner = dataset
    for _ in range(8):
        method = next((getattr(type(inner), n, None)
                       for n in ("__getitems__", "__getitem__", "__iter__")
                       if where_is(getattr(type(inner), n, None))), None)
        held = getattr(inner, "__dict__", {}).get("dataset")
        if method or held is None:
            break
        inner = held
    fact(f"torch.loader.{number}.dataset", where_is(method) or type(inner).__name__)
    if isinstance(dataset, hook.torch.utils.data.IterableDataset):
        names = getattr(getattr(type(inner), "__iter__", None), "__code__", None)
        knows = names and "get_worker_info" in names.co_names
        fact(f"torch.loader.{number}.iterable", "shards" if knows else "does not shard")


@guarded
def describe(loader, number, made, place):
    key = f"torch.loader.{number}"
    fact(key, settings_of(loader))
    fact(key + ".made", made)
    fact(key + ".where", place)
    if made_by.get(id(loader)):
        fact(key + ".by", made_by[id(loader)])
    note_dataset(number, loader.dataset)
    collate = where_is(loader.collate_fn)
    if collate:
        fact(key + ".collate", collate)
    if loader.num_workers:
        context = getattr(loader, "multiprocessing_context", None) or multiprocessing
        how = context.get_start_method(allow_none=True)  # asked for otherwise, it would be fixed
        fact(key + ".start", how or multiprocessing.get_all_start_methods()[0])
    if number == 1:
        fact("torch.loader", settings_of(loader))
        fact("torch.loader.where", place)
        fact("torch.loader.made", made)


def number_for(loader):
    number = number_of.get(id(loader))
    if number:
        return number
    place = own_place()
    made = made_at.get(id(loader), place)
    kind = kind_of(loader, made, place)
    number = number_of.get(kind)
    if number is None:
        number = number_of[kind] = min(len(used) + 1, MOST)
        if number not in used:
            describe(loader, number, made, place)
    elif used[number] == 1 and number < MOST:
        fact(f"torch.loader.{number}.anew", "made anew for each loop")
    used[number] = used.get(number, 0) + 1
    number_of[id(loader)] = number
    if len(used) == 2 and used[number] == 1:
        wrap(hook.torch.utils.data.dataloader._BaseDataLoaderIter, "__next__", hook.NOTE, note=note_next)
    return number


# ---- what is called ---------------------------------------------------------------------------

@guarded
def note_iterated(loader, *_, **__):
    """Before each loop: its workers are children of what is told here."""
    hook.agent.gpuprof_hook_loading(number_for(loader))
    if hasattr(os, "sched_getaffinity"):
        fact("process_cores", len(os.sched_getaffinity(0)))


@guarded
def note_iterator(iterator, loader, *_, **__):
    iterators[id(iterator)] = number_of.get(id(loader), 0)


def note_next(iterator, *_, **__):
    """Before each batch, once there are several loaders: which one it is of."""
    hook.agent.gpuprof_hook_loading(iterators.get(id(iterator), 0))


@guarded
def note_set(loader, name, value=None, *_):
    """The first thing that a loader sets of itself, by the line that makes it."""
    if name == "dataset":
        made_at[id(loader)] = line_of(value)
        made_by[id(loader)] = framework()
        number_of.pop(id(loader), None)


def tensors_of(batch, depth=0):
    """The plain tensors in a batch, of the usual containers alone."""
    if type(batch) is hook.torch.Tensor:
        yield batch
    elif depth < 3 and type(batch) is dict:
        for value in list(batch.values())[:16]:
            yield from tensors_of(value, depth + 1)
    elif depth < 3 and type(batch) in (list, tuple):
        for value in batch[:16]:
            yield from tensors_of(value, depth + 1)


def note_batch(batch):
    tensors = list(tensors_of(batch))
    found = [f"{str(t.dtype).replace('torch.', '')} {'x'.join(map(str, t.shape)) or 'scalar'}"
             for t in tensors]
    if found:
        fact("torch.batch", ", ".join(found[:8]))
        fact("torch.batch.bytes", sum(t.numel() * t.element_size() for t in tensors))


@guarded
def note_fetcher(fetcher, *_, **__):
    """Made in the process that is to use it, which tells the agent which worker it is. Collating is
    timed for this one fetcher, so that what is pickled stays the program's."""
    worker = hook.torch.utils.data.get_worker_info()
    hook.agent.gpuprof_hook_worker(-1 if worker is None else worker.id)
    wrap(fetcher, "collate_fn", hook.COLLATE)


def hook_dataloader(module):
    apply.hook_loader(module)
    if hook.only_steps:
        return
    if "__setattr__" in vars(module.DataLoader):
        wrap(module.DataLoader, "__setattr__", hook.NOTE, note=note_set)
    wrap(module.DataLoader, "__iter__", hook.BEGIN, note=note_iterated)
    wrap(module._DatasetKind, "create_fetcher", hook.RESULT, note=note_fetcher)
    wrap(module._BaseDataLoaderIter, "__init__", hook.NOTE, note=note_iterator)
    wrap(module._BaseDataLoaderIter, "__next__", hook.WAIT)
    once(module._BaseDataLoaderIter, "__next__", note_batch, hook.RESULT)


def hook_fetch(module):
    wrap(module._MapDatasetFetcher, "fetch", hook.FETCH)
    wrap(module._IterableDatasetFetcher, "fetch", hook.FETCH)


def hook_pin_memory(module):
    wrap(module, "pin_memory", hook.PIN)


def awaited():
    data = "torch.utils.data."
    hooks = {data + "dataloader": hook_dataloader}
    if not hook.only_steps:
        hooks.update({data + "_utils.fetch": hook_fetch,
                      data + "_utils.pin_memory": hook_pin_memory})
    return hooks
