"""Data loading: waits of the training thread, making and collating of batches, pinning, start-up of
workers, settings, and the form of the first batch.

Loaders are numbered from 1 in the order in which the program first loops over them. Each record has
the number of its loader, and the facts torch.loader.NUMBER and torch.loader.NUMBER.* describe that
loader."""
import functools
import os
import sys
import types
import weakref

facts = hook.here["facts"]
fact, wrap, once, guarded = hook.fact, hook.wrap, hook.once, hook.guarded
apply = hook.here["apply"]
MOST = 32  # loaders that get a number of their own
BEGIN = 4  # SPOOL_LOADER_BEGIN of wire/spool_format.h
made_at = {}  # id of a loader: the line that made it
made_by = {}  # id of a loader: packages whose code made it
# Id of a dataset: a reference to it, and the program's line that first gave it to a loader.
given = {}
number_of = {}  # id of a loader, or its kind (kind_of): its number
used = {}  # number: how many loaders have it
iterators = {}  # id of an iterator: the number of its loader
others = {}  # id of a loader that is not PyTorch's DataLoader: a reference to it
began = {}  # id of such a loader's iterator: when its workers began to start


def own_place():
    """file:line of the innermost frame in the program's own files, else of the innermost frame
    outside PyTorch."""
    frame = sys._getframe(1)
    while frame:
        path = frame.f_code.co_filename
        if not (path.startswith((hook.FOLDER, hook.torch_folder, "<"))
                or "/site-packages/" in path or "/dist-packages/" in path):
            return f"{os.path.basename(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return hook.user_place()


# In these packages only the Trainer counts.
TRAINERS = {"transformers": "/transformers/trainer.py", "lightning": "/lightning/pytorch/"}


def makers():
    """The packages whose code makes the loader or calls the optimizer, innermost first. Some of
    them have arguments of their own that set the loader's or optimizer's."""
    found = []
    frame = sys._getframe(1)
    while frame:
        path = frame.f_code.co_filename
        inside = path.rpartition("-packages/")[2].partition("/")[0]
        if not path.startswith((hook.FOLDER, hook.torch_folder, "<")):
            if "-packages/" not in path:
                break
            if TRAINERS.get(inside, "") in path:
                found.append(inside.replace(".py", ""))
        frame = frame.f_back
    return " ".join(list(dict.fromkeys(found))[:8])


def made_where(dataset):
    """The line at which the program makes the present loader, and the packages that make it. A
    library (Accelerate, Lightning) replaces the program's loader by another one of the same
    dataset, with its settings: then it is the program's line."""
    place = own_place()
    reference, line = given.get(id(dataset), (None, None))
    if hook.user_place() != place:  # a line of a library
        return (line, "") if reference and reference() is dataset else (place, makers())
    if not reference or reference() is not dataset:
        if len(given) >= 8 * MOST:
            given.clear()
        try:
            given[id(dataset)] = weakref.ref(dataset), place
        except TypeError:
            pass  # a list, for example, has no weak references
    return place, ""


# ---- what a loader is -------------------------------------------------------------------------

def batch_size_of(loader):
    """The batch size of a loader. With Accelerate the sampler of batches knows it. Reads no
    property, because that might run code of the program."""
    known = getattr(getattr(loader, "batch_sampler", None), "__dict__", {}).get("batch_size")
    return getattr(loader, "batch_size", None) or (known if isinstance(known, int) else None)


def settings_of(loader):
    names = ("num_workers", "batch_size", "pin_memory")
    if loader.num_workers:
        names += ("prefetch_factor", "persistent_workers")
    values = ((n, batch_size_of(loader) if n == "batch_size" else getattr(loader, n, None)) for n in names)
    text = ", ".join(f"{n}={v}" for n, v in values if v is not None or hasattr(loader, n))
    return f"{type(loader).__name__}({text})"


def kind_of(loader, made, place):
    """A key that is the same for loaders that the program makes anew for each loop. Calls nothing
    of the program: even a length may print something, or take long."""
    dataset = type(loader.dataset)  # by name: a class within a function is a new object each time
    return (made, place, dataset.__module__, dataset.__qualname__, type(getattr(loader, "sampler", None)),
            getattr(loader, "batch_size", None), loader.num_workers)


def where_is(function):
    """NAME file:line of a function of the program; None for one of PyTorch's or in C."""
    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, (types.FunctionType, types.MethodType)):
        function = getattr(type(function), "__call__", None)
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename.startswith(hook.torch_folder):
        return None
    name = getattr(function, "__qualname__", code.co_name).replace("<locals>.", "")
    return f"{name} {hook.short(code.co_filename)}:{code.co_firstlineno}"


def note_dataset(number, dataset):
    """Records the function that makes a sample. Datasets that only select from another one are
    skipped."""
    inner = dataset
    for _ in range(8):
        method = next((getattr(type(inner), n, None)
                       for n in ("__getitems__", "__getitem__", "__iter__")
                       if where_is(getattr(type(inner), n, None))), None)
        held = getattr(inner, "__dict__", {}).get("dataset")
        if method or held is None:
            break
        inner = held
    fact(f"{facts.TORCH_LOADER}.{number}.{facts.LOADER_DATASET}", where_is(method) or type(inner).__name__)
    if isinstance(dataset, hook.torch.utils.data.IterableDataset):
        names = getattr(getattr(type(inner), "__iter__", None), "__code__", None)
        knows = names and "get_worker_info" in names.co_names
        fact(f"{facts.TORCH_LOADER}.{number}.{facts.LOADER_ITERABLE}", "shards" if knows else "does not shard")


@guarded
def describe(loader, number, made, place):
    key = f"{facts.TORCH_LOADER}.{number}"
    fact(key, settings_of(loader))
    if made:
        fact(f"{key}.{facts.LOADER_MADE}", made)
    fact(f"{key}.{facts.LOADER_WHERE}", place)
    by = made_by.get(id(loader))
    if is_other(loader):
        by = makers()
        fact(f"{key}.{facts.LOADER_FOREIGN}", "handed to PyTorch's iterators")
    if by:
        fact(f"{key}.{facts.LOADER_BY}", by)
    note_dataset(number, loader.dataset)
    collate = where_is(getattr(loader, "collate_fn", None))
    if collate:
        fact(f"{key}.{facts.LOADER_COLLATE}", collate)
    how = hook.start_method(getattr(loader, "multiprocessing_context", None))
    if loader.num_workers or how != "fork":
        fact(f"{key}.{facts.LOADER_START}", how)
    if number == 1:
        fact(facts.TORCH_LOADER, settings_of(loader))
        fact(f"{facts.TORCH_LOADER}.{facts.LOADER_WHERE}", place)
        if made:
            fact(f"{facts.TORCH_LOADER}.{facts.LOADER_MADE}", made)


def is_other(loader):
    """True for a loader that is not PyTorch's class, though it uses PyTorch's iterators (fastai):
    the hook has not seen where it was made."""
    return not isinstance(loader, hook.torch.utils.data.DataLoader)


def known_number(loader):
    """The number of this loader, or None. An id may be that of an earlier object, unless the hook
    saw this loader being made."""
    if is_other(loader):
        reference = others.get(id(loader))
        if not reference or reference() is not loader:
            if len(others) >= 8 * MOST:
                others.clear()
            others[id(loader)] = weakref.ref(loader)
            return None
    return number_of.get(id(loader))


def number_for(loader):
    number = known_number(loader)
    if number:
        return number
    place = own_place()
    made = None if is_other(loader) else made_at.get(id(loader), place)
    kind = kind_of(loader, made, place)
    number = None if is_other(loader) else number_of.get(kind)
    if number is None:
        number = number_of[kind] = min(len(used) + 1, MOST)
        if number not in used:
            describe(loader, number, made, place)
    elif used[number] == 1 and number < MOST:
        fact(f"{facts.TORCH_LOADER}.{number}.{facts.LOADER_ANEW}", "made anew for each loop")
    used[number] = used.get(number, 0) + 1
    number_of[id(loader)] = number
    if len(used) == 2 and used[number] == 1:
        wrap(hook.torch.utils.data.dataloader._BaseDataLoaderIter, "__next__", hook.NOTE, note=note_next)
    return number


# ---- watched calls ----------------------------------------------------------------------------

@guarded
def note_iterated(loader, *_, **__):
    """Called before each loop, so that the loader's workers inherit the number."""
    hook.agent.gpuprof_hook_loading(number_for(loader))
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
        fact(facts.PROCESS_CORES, cores)
        if cores < hook.cores_given:  # the program, or a package that it imports, confined it
            fact(facts.PROCESS_CORES_GIVEN, hook.cores_given)


@guarded
def note_iterator(iterator, loader, *_, **__):
    """Called before the workers start. A class may make its iterators without
    DataLoader.__iter__."""
    number = iterators[id(iterator)] = number_for(loader)
    hook.agent.gpuprof_hook_loading(number)
    if is_other(loader) and loader.num_workers:
        began[id(iterator)] = hook.now()


@guarded
def note_started(iterator, *_, **__):
    """Called when the workers have been asked for the first batches."""
    start_ns = began.pop(id(iterator), None)
    if start_ns:
        hook.agent.gpuprof_hook_loader(BEGIN, -1, iterators.get(id(iterator), 0), start_ns, hook.now(), -1)


def note_next(iterator, *_, **__):
    """Called before each batch once there are several loaders: sets the batch's loader."""
    hook.agent.gpuprof_hook_loading(iterators.get(id(iterator), 0))


@guarded
def note_set(loader, name, value=None, *_):
    """The first attribute that a loader sets on itself: notes the line that makes the loader."""
    if name == "dataset":
        made_at[id(loader)], made_by[id(loader)] = made_where(value)
        number_of.pop(id(loader), None)


def tensors_of(batch, depth=0):
    """Yields the plain tensors in a batch. Looks only into the usual containers."""
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
        fact(facts.TORCH_BATCH, ", ".join(found[:8]))
        fact(facts.TORCH_BATCH_TENSORS, len(found))
        fact(facts.TORCH_BATCH_BYTES, sum(t.numel() * t.element_size() for t in tensors))


@guarded
def note_fetcher(fetcher, *_, **__):
    """Called in the process that uses the fetcher, and tells the agent which worker that is. Times
    the collation of this fetcher alone, so that pickled objects stay the program's own."""
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
    # For classes with an __iter__ of their own.
    wrap(module.DataLoader, "_get_iterator", hook.BEGIN, note=note_iterated)
    wrap(module._DatasetKind, "create_fetcher", hook.RESULT, note=note_fetcher)
    wrap(module._BaseDataLoaderIter, "__init__", hook.NOTE, note=note_iterator)
    wrap(module._BaseDataLoaderIter, "__next__", hook.WAIT)
    once(module._BaseDataLoaderIter, "__next__", note_batch, hook.RESULT)
    workers = getattr(module, "_MultiProcessingDataLoaderIter", None)
    if workers is not None:
        wrap(workers, "_reset", hook.AFTER, note=note_started)


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
