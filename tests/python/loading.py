#!/usr/bin/env python3
"""What the Python hook says of loaders: which one is waited for, what makes its batches, what starting workers
costs, who collects garbage; and the settings for one loader of several.

usage: loading.py BUILD          77 without PyTorch
"""
import json
import os
import sys

from support import PYTHON, Test, facts, have_torch, health, query

SCRIPT = """
import gc, os, queue, sys, threading, time, torch; torch.multiprocessing.set_start_method("fork", force=True)
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, get_worker_info
class Data(Dataset):
    def __init__(self, n, sleep=0.0): self.n, self.sleep = n, sleep
    def __len__(self): return self.n
    def __getitem__(self, i):  # line 7
        time.sleep(self.sleep)
        return torch.ones(4), i % 2
    def __getattr__(self, name):
        if name == "dataset": print("asked for what is not there")
        raise AttributeError(name)
class Stream(IterableDataset):
    def __len__(self):
        print("asked for its length")
        return 1
    def __iter__(self):
        return iter([(torch.ones(4), 1)] * 64)
class Divided(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter([(torch.ones(4), 1)] * 64)
class Own(DataLoader): pass
def join(samples):  # line 24
    return torch.stack([x for x, _ in samples]), torch.tensor([y for _, y in samples])
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step(x, y):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
def both():
    val = DataLoader(Data(32), batch_size=8)
    train = Own(Subset(Data(160, 0.001), range(160)), batch_size=8)  # line 34
    for epoch in range(2):
        for loader in (val, train):
            for x, y in loader:  # line 37
                if loader is train: step(x, y)
    print(train.num_workers, val.num_workers)
def collate():
    for x, y in DataLoader(Data(32), batch_size=8, collate_fn=join): step(x, y)
def streams():
    for x, y in DataLoader(Stream(), batch_size=8): step(x, y)
    for x, y in DataLoader(Divided(), batch_size=8): step(x, y)
def workers():
    loader = DataLoader(Data(32), batch_size=8, num_workers=2)
    for epoch in range(4):
        for x, y in loader: step(x, y)
def anew():
    for epoch in range(3):
        for x, y in DataLoader(Data(32), batch_size=8): step(x, y)
def local():
    for epoch in range(3):
        class Local(Data): pass  # another class each time
        for x, y in DataLoader(Local(32), batch_size=8): step(x, y)
def ahead():
    ready = queue.Queue(1)
    def read():
        for batch in DataLoader(Data(64, 0.002), batch_size=8): ready.put(batch)
        ready.put(None)
    threading.Thread(target=read).start()
    while True:
        batch = ready.get()
        if batch is None: break
        step(*batch)
def garbage():
    held = [[i, {}] for i in range(200000)]
    for x, y in DataLoader(Data(96), batch_size=8):
        gc.collect()  # line 69
        step(x, y)
def prepared():
    library = {}
    exec(compile("def prepare(loader): return type(loader)(loader.dataset, batch_size=loader.batch_size)",
                 "/lib/site-packages/library/a.py", "exec"), library)
    loader = DataLoader(Data(32), batch_size=8)  # line 75
    loader = library["prepare"](loader)
    for x, y in loader: step(x, y)
def trainer():
    library = {}
    exec(compile("def train(data, make): return make(data, batch_size=8)",
                 "/lib/site-packages/transformers/trainer.py", "exec"), library)
    for x, y in library["train"](Data(32), DataLoader): step(x, y)
def clone():
    program = {}
    exec(compile("def train(data, make): return make(data, batch_size=8)",
                 "/home/me/transformers/examples/run.py", "exec"), program)
    for x, y in program["train"](Data(32), DataLoader): step(x, y)
def endless():
    library = {"DataLoader": DataLoader}
    exec(compile('''
class Endless(DataLoader):
    iterator = None
    def __iter__(self):
        if self.iterator is None: self.iterator = self._get_iterator()
        for _ in range(4): yield next(self.iterator)
def train(data): return Endless(data, batch_size=8, num_workers=1)
''', "/lib/site-packages/ultralytics/data/build.py", "exec"), library)
    loader = library["train"](Data(96, 0.005))  # line 98
    for epoch in range(3):
        for x, y in loader: step(x, y)  # line 100
def foreign():
    library = {"dataloader": torch.utils.data.dataloader}
    exec(compile('''
class Fake:
    _IterableDataset_len_called, _auto_collation, drop_last, generator = None, False, False, None
    _dataset_kind, timeout, persistent_workers = dataloader._DatasetKind.Iterable, 0, False
    prefetch_factor, pin_memory, pin_memory_device, worker_init_fn = 2, False, "", None
    multiprocessing_context, in_order, _get_shared_seed = None, True, None
    def __init__(self, batches, workers): self.dataset, self.batches, self.num_workers = self, batches, workers
    _index_sampler = property(lambda self: range(100))
    def collate_fn(self, batch): return batch
    def __iter__(self): return iter(self.batches)
def train(batches, workers, step):
    fake = Fake(batches, workers)
    for epoch in range(3):
        kind = dataloader._MultiProcessingDataLoaderIter if workers else dataloader._SingleProcessDataLoaderIter
        for batch in kind(fake): step(*batch)
''', "/lib/site-packages/fastai/data/load.py", "exec"), library)
    batches = [(torch.ones(8, 4), torch.ones(8).long())] * 5
    for workers in (0, 1): library["train"](batches, workers, step)  # line 120
def server():
    import multiprocessing
    multiprocessing.set_start_method(None, force=True)
    multiprocessing.get_all_start_methods = lambda: ["forkserver", "fork", "spawn"]  # Python 3.14 has this order
    loader = DataLoader(Data(32, 0.01), batch_size=8)
    for x, y in loader: step(x, y)
    context = loader.multiprocessing_context
    print(loader.num_workers, context and context.get_start_method())
def confined():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    collate()
if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("frozen", gc.get_freeze_count() > 0)
"""


def waits(profile):
    """By loader: how many of wait, fetch, begin, end."""
    seen = {}
    for loader, what, n in query(profile, "SELECT batch, what, count(*) FROM loader_span GROUP BY 1, 2"):
        seen.setdefault(loader, {})[what] = n
    return seen


def findings(test, profile):
    done = test.run([test.gpuprof, "analyze", "--json", profile])
    return {f.get("rule"): f for f in json.loads(done.stdout).get("findings", [])}


def which_loader(test, script):
    profile = test.same("two loaders on one line", [PYTHON, script, "both"])
    seen, said = waits(profile), facts(profile)
    test.check(seen.get(1, {}).get(0) == 8 and seen.get(2, {}).get(0) == 40, "waits are told apart", seen)
    test.check(all(seen[n].get(4) == seen[n].get(5) == 2 for n in (1, 2)), "so are loops", seen)
    for key, text in {"1.made": "loading_case.py:33", "2.made": "loading_case.py:34",
                      "2.where": "loading_case.py:37",
                      "2.dataset": "Data.__getitem__ loading_case.py:7"}.items():
        test.check(said.get("torch.loader." + key) == text, f"fact {key}", said)
    test.check(said.get("torch.loader.2", "").startswith("Own(num_workers=0"), "class of the loader", said)
    test.check("torch.loader.2.anew" not in said, "made once", said)
    first = findings(test, profile).get("data-loading", {})
    test.check("loading_case.py:34: DataLoader" in json.dumps(first), "the one that is waited for is named", first)


def one_of_two(test, script):
    apply = "num_workers=1;persistent_workers=1;loader=loading_case.py:34"
    done, profile = test.traced([PYTHON, script, "both"], GPUPROF_APPLY=apply)
    test.check(done.stdout.startswith("1 0\n"), "settings for one of two loaders", done.stdout + done.stderr)
    said = facts(profile)
    for setting in ("num_workers", "persistent_workers", "loader"):
        test.check(said.get("apply." + setting, "").startswith("applied"), f"{setting} was applied", said)
    done, profile = test.traced([PYTHON, script, "both"], GPUPROF_APPLY="num_workers=1;loader=x.py:1")
    test.check(done.stdout.startswith("0 0\n"), "a line that makes none", done.stdout)
    test.check(facts(profile).get("apply.loader") == "refused: the program creates no DataLoader at x.py:1",
               "is refused", facts(profile))


def what_makes_batches(test, script):
    said = facts(test.same("collate", [PYTHON, script, "collate"]))
    test.check(said.get("torch.loader.1.collate") == "join loading_case.py:24", "function that collates", said)
    said = facts(test.same("iterable datasets", [PYTHON, script, "streams"]))
    test.check(said.get("torch.loader.1.iterable") == "does not shard" and
               said.get("torch.loader.2.iterable") == "shards", "who divides itself", said)
    said = facts(test.same("a loader that a library makes from the program's", [PYTHON, script, "prepared"]))
    test.check(said.get("torch.loader.1.made") == "loading_case.py:75", "the program's line is named", said)
    test.check("torch.loader.1.by" not in said, "no trainer made it", said)
    said = facts(test.same("a loader that a trainer makes", [PYTHON, script, "trainer"]))
    test.check(said.get("torch.loader.1.by") == "transformers", "whose arguments are others", said)
    said = facts(test.same("a program in a folder of that name", [PYTHON, script, "clone"]))
    test.check("torch.loader.1.by" not in said, "makes its loader itself", said)
    said = facts(test.same("made anew", [PYTHON, script, "anew"]))
    test.check("torch.loader.1.anew" in said and "torch.loader.2" not in said, "one loader, made anew", said)
    said = facts(test.same("classes within a function", [PYTHON, script, "local"]))
    test.check("torch.loader.1.anew" in said and "torch.loader.2" not in said, "one loader by its name", said)
    seen = waits(test.same("read ahead", [PYTHON, script, "ahead"]))
    test.check(seen.get(1, {}).get(0) == 8, "waits of a thread that reads ahead", seen)


def loaders_of_libraries(test, script):
    profile = test.same("a class that begins its loops itself", [PYTHON, script, "endless"])
    seen, said = waits(profile), facts(profile)
    test.check(seen.get(1, {}).get(0) == 12 and seen.get(1, {}).get(4) == 1, "its waits and its only loop", seen)
    test.check(seen.get(1, {}).get(1, 0) >= 12, "its worker knows it", seen)
    for key, text in {"made": "loading_case.py:98", "where": "loading_case.py:100", "by": "ultralytics"}.items():
        test.check(said.get("torch.loader.1." + key) == text, f"fact {key}", said)
    test.check("Endless(num_workers=1, batch_size=8" in said.get("torch.loader.1", ""), "its settings", said)
    profile = test.same("a loader that is not PyTorch's", [PYTHON, script, "foreign"])
    seen, said = waits(profile), facts(profile)
    for number in (1, 2):
        test.check(seen.get(number, {}).get(0) == 15, "its waits", seen)
        test.check(said.get(f"torch.loader.{number}.by") == "fastai" and f"torch.loader.{number}.made" not in said,
                   "who made it, but not where", said)
        test.check(said.get(f"torch.loader.{number}.where") == "loading_case.py:120", "where it is used", said)
        test.check(f"torch.loader.{number}.anew" not in said, "is the same in each loop", said)
    test.check(said.get("torch.loader.2") == "Fake(num_workers=1, pin_memory=False, prefetch_factor=2, "
               "persistent_workers=False)", "its settings, without those that it lacks", said)
    test.check(seen.get(2, {}).get(4) == 3, "starts of its workers", seen)


def start_of_workers(test, script):
    profile = test.same("workers", [PYTHON, script, "workers"])
    seen, said = waits(profile), facts(profile)
    test.check(seen.get(1, {}).get(4) == 4 and seen.get(1, {}).get(1) == 16, "workers know their loader", seen)
    test.check(said.get("torch.loader.1.start") == "fork", "how they are started", said)
    found = findings(test, profile).get("worker-startup", {})
    test.check("persistent_workers=1" in json.dumps(found), "starting them is a finding", found)


def first_workers(test, script):
    """Where workers are not forked, a program without any may not be made for them."""
    profile = test.same("no workers yet", [PYTHON, script, "server"])
    test.check(facts(profile).get("torch.loader.1.start") == "forkserver", "how they would start", facts(profile))
    found = findings(test, profile).get("data-loading", {})
    test.check("if __name__ == '__main__':" in json.dumps(found), "what its first workers ask of it", found)
    done, profile = test.traced([PYTHON, script, "server"], GPUPROF_APPLY="num_workers=1")
    test.check(done.stdout.startswith("1 fork\n"), "those that were asked for are forked", done.stdout + done.stderr)
    test.check(facts(profile).get("apply.num_workers") == "applied: default -> 1, started by fork", "and it says so",
               facts(profile).get("apply.num_workers"))


def collector(test, script):
    profile = test.same("garbage", [PYTHON, script, "garbage"])
    said = facts(profile)
    test.check(said.get("torch.gc.asked") == "loading_case.py:69", "who collects garbage", said)
    found = findings(test, profile).get("gc-pauses", {})
    test.check("loading_case.py:69" in json.dumps(found), "the pauses are a finding", found)
    done, profile = test.traced([PYTHON, script, "garbage"], GPUPROF_APPLY="gc=freeze")
    test.check(done.stdout == "frozen True\n", "what is alive is frozen on request", done.stdout + done.stderr)
    test.check(facts(profile).get("apply.gc", "").startswith("applied"), "and says so", facts(profile))


def main():
    if not have_torch():
        print("skipped: no PyTorch in /usr/bin/python3")
        sys.exit(77)
    test = Test(sys.argv[1])
    script = test.write("loading_case.py", SCRIPT)
    for case in (which_loader, one_of_two, what_makes_batches, loaders_of_libraries, start_of_workers, first_workers,
                 collector):
        case(test, script)
    said = facts(test.same("confined by itself", [PYTHON, script, "confined"]))
    test.check(said.get("process_cores") == "1", "cores of the program itself", said)
    given = len(os.sched_getaffinity(0))
    test.check(said.get("process_cores.given") == (str(given) if given > 1 else None), "those that it began with", said)
    test.check(not health(test.path("traced.gpuprof")), "nothing in the health table")
    test.done()


main()
