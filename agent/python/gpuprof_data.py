"""Data loading: waits of the training thread, batches made and collated, pinning, settings, and
what the first batch looks like."""
fact, wrap, once, guarded = hook.fact, hook.wrap, hook.once, hook.guarded
apply = hook.here["apply"]
loaders_seen = {}
made_at = {}  # id of a loader: the line that made it


@guarded
def note_iterated(loader, *_, **__):
    """Settings of a loader and the line that loops over it, once for each line."""
    place = hook.user_place()
    if loaders_seen.get(place) == id(loader):
        return
    loaders_seen[place] = id(loader)
    names = ("num_workers", "batch_size", "pin_memory")
    if loader.num_workers:
        names += ("prefetch_factor", "persistent_workers")
    text = ", ".join(f"{n}={getattr(loader, n, None)}" for n in names)
    fact(f"torch.loader.{place}", f"{type(loader).__name__}({text})")
    if len(loaders_seen) == 1:
        fact("torch.loader", f"{type(loader).__name__}({text})")
        fact("torch.loader.where", place)
        fact("torch.loader.made", made_at.get(id(loader), place))


@guarded
def note_set(loader, name, *_):
    """The first thing that a loader sets of itself, by the line that makes it."""
    if name == "dataset":
        made_at[id(loader)] = hook.user_place()


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
    found = [f"{str(t.dtype).replace('torch.', '')} {'x'.join(map(str, t.shape)) or 'scalar'}"
             for t in tensors_of(batch)]
    if found:
        fact("torch.batch", ", ".join(found[:8]))


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
    wrap(module.DataLoader, "__iter__", hook.NOTE, note=note_iterated)
    wrap(module._DatasetKind, "create_fetcher", hook.RESULT, note=note_fetcher)
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
