"""A stand-in for PyTorch 2.9 as far as the hook touches it: names, signatures and the order of calls
are the documented ones, tensors only say where they lie. It lets a machine without a GPU and with an
older PyTorch test what depends on either."""

FILES = {
    "torch/__init__.py": '''
import sys
__version__ = "2.9.0"
float32, uint8, bfloat16 = "torch.float32", "torch.uint8", "torch.bfloat16"
channels_last, contiguous_format = "channels_last", "contiguous"
class device(str):
    type = property(lambda self: self.split(":")[0])
class Tensor:
    def __init__(self, where="cpu", shape=(2, 3, 4, 4), pinned=False, format="contiguous"):
        self.device, self.shape, self.pinned, self.format = device(where), shape, pinned, format
        self.dtype, self.requires_grad, self.calls = float32, False, []
    is_cuda = property(lambda self: self.device.type == "cuda")
    data = property(lambda self: self, lambda self, other: setattr(self, "format", other.format))
    def dim(self): return len(self.shape)
    def element_size(self): return 4
    def numel(self):
        n = 1
        for size in self.shape: n *= size
        return n
    def is_floating_point(self): return True
    def is_pinned(self): return self.pinned
    def is_contiguous(self, memory_format="contiguous"): return self.format == memory_format
    def contiguous(self, memory_format="contiguous"):
        return Tensor(self.device, self.shape, False, memory_format)
    def to(self, where, dtype=None, non_blocking=False, copy=False, memory_format=None):
        if where == self.device: return self
        made = Tensor(where, self.shape, False, memory_format or self.format)
        made.calls = self.calls + [("to", non_blocking)]
        return made
    def cuda(self, device=0, non_blocking=False): return self.to("cuda", None, non_blocking)
    def cpu(self): return self.to("cpu")
    def item(self): return 0.5
    def tolist(self): return [0.5]
    def numpy(self): return 0.5
    def nonzero(self): return self
    def masked_select(self, mask): return self
    def equal(self, other): return True
    def __bool__(self): return bool(self.item())
    def __int__(self): return int(self.item())
    def __float__(self): return float(self.item())
    def __repr__(self): return f"tensor({self.item()})"
    def __format__(self, spec): return format(self.item(), spec)
    def backward(self): autograd.backward(self)
patched = []
def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None):
    # what a compiler would trace has no wrapper in it
    if model is None: return lambda model: compile(model)
    if not patched:  # once: no class of optimizer has its wrapper any longer
        patched.append(1)
        for cls in optim.Optimizer.__subclasses__():
            if hasattr(cls.step, "hooked"): cls.step = cls.step.__wrapped__
            cls.step.hooked = True
    print("traced", type(nn.Module.train).__name__, type(optim.Optimizer.zero_grad).__name__,
          type(cuda.synchronize).__name__)
    if isinstance(model, nn.Module): return model
    def traced(*args):
        if model.__name__ != "pure": print("a function, with a step", "that is wrapped" if hasattr(optim.SGD.step, "__wrapped__")
              else "as it was written")
        return model(*args)
    return traced
def is_anomaly_enabled(): return False
def is_grad_enabled(): return True
def are_deterministic_algorithms_enabled(): return False
def get_num_threads(): return 4
def get_float32_matmul_precision(): raise RuntimeError("mix of the legacy and new APIs")
from torch import _C, autograd, backends, cuda, amp, nn, optim, utils
import torch.utils.data
autocast = amp.autocast_mode.autocast
''',
    "torch/_C.py": "def _cuda_init(): pass\n",
    "torch/autograd/profiler.py": '''
class record_function:
    def __init__(self, name): self.name = name
    def __enter__(self): return self
    def __exit__(self, *error): pass
''',
    "torch/autograd/__init__.py": '''
from torch.autograd import profiler
def backward(tensors, grad_tensors=None, retain_graph=None): print("backward")
''',
    "torch/backends/__init__.py": '''
import sys, types
fp32_precision = "none"
class Switch:
    fp32_precision = "none"
    @property
    def allow_tf32(self): raise RuntimeError("mix of the legacy and new APIs")
cudnn = types.SimpleNamespace(benchmark=False, deterministic=False, conv=Switch())
cuda = types.SimpleNamespace(matmul=Switch(), flash_sdp_enabled=lambda: True)
''',
    "torch/cuda/__init__.py": '''
def is_available(): return True
def is_bf16_supported(): return True
def synchronize(device=None): pass
def empty_cache(): pass
from torch.cuda import amp, graphs, memory
''',
    "torch/cuda/memory.py": '''
history, kept, old = [], [], []
def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=0):
    kept.append(enabled)
def _snapshot():
    blocks = [{"state": "active_allocated", "address": 4096, "requested_size": 1000, "frames": []},
              {"state": "active_allocated", "address": 5120, "requested_size": 64, "frames": old},
              {"state": "inactive", "address": 6144, "requested_size": 0, "frames": []}]
    return {"device_traces": [history], "segments": [{"device": 0, "total_size": 4096, "blocks": blocks}]}
''',
    "torch/cuda/graphs.py": '''
class CUDAGraph:
    def replay(self): print("replay")
''',
    "torch/cuda/amp/__init__.py": "",
    "torch/amp/__init__.py": '''
from torch.amp import autocast_mode, grad_scaler
import torch.cuda.amp.grad_scaler
''',
    "torch/amp/autocast_mode.py": '''
class autocast:
    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        self.device, self.fast_dtype, self._enabled = device_type, dtype or "torch.float16", enabled
    def __enter__(self):
        print("autocast on", self.fast_dtype)
    def __exit__(self, *error):
        print("autocast off")
        return False
''',
    "torch/amp/grad_scaler.py": '''
class GradScaler:
    def __init__(self, device="cuda", enabled=True): self._enabled = enabled
    def is_enabled(self): return self._enabled
    def scale(self, loss): return loss
    def step(self, optimizer): return optimizer.step()
    def update(self): pass
''',
    "torch/cuda/amp/grad_scaler.py": '''
from torch.amp.grad_scaler import GradScaler as Newer
class GradScaler(Newer):
    def __init__(self, enabled=True): super().__init__("cuda", enabled)
''',
    "torch/nn/__init__.py": '''
import torch
class Parameter(torch.Tensor): pass
from torch.nn import modules, parallel, utils
Module = modules.module.Module
''',
    "torch/nn/modules/__init__.py": "from torch.nn.modules import module",
    "torch/nn/modules/module.py": '''
class Module:
    def __call__(self, *args):
        return self.forward(*args)
    def parameters(self): return iter(())
    def train(self, mode=True): return self
    def eval(self): return self.train(False)
    def zero_grad(self, set_to_none=True): pass
''',
    "torch/nn/parallel/__init__.py": """from torch.nn.parallel import data_parallel, distributed
from torch.nn.parallel.distributed import DistributedDataParallel
""",
    "torch/nn/parallel/data_parallel.py": '''
class DataParallel:
    device_ids = [0, 1]
    def forward(self, *args): return args
''',
    "torch/nn/parallel/distributed.py": '''
import contextlib
class DistributedDataParallel:
    bucket_bytes_cap, static_graph, gradient_as_bucket_view = 26214400, False, False
    find_unused_parameters = False
    def __init__(self, module, bucket_cap_mb=25, static_graph=False):
        self.static_graph = static_graph
        self._ddp_init_helper()
    def _ddp_init_helper(self): pass
    @contextlib.contextmanager
    def no_sync(self): yield
''',
    "torch/nn/utils/__init__.py": '''
from torch.nn.utils import clip_grad
from torch.nn.utils.clip_grad import clip_grad_norm_
''',
    "torch/nn/utils/clip_grad.py": '''
def _group_tensors_by_device_and_dtype(tensors): return {}
def clip_grad_norm_(parameters, max_norm):
    _group_tensors_by_device_and_dtype([list(parameters)])
    return 1.0
''',
    "torch/optim/__init__.py": '''
from torch.optim import optimizer
from torch.optim.optimizer import Optimizer
class SGD(Optimizer):
    def __init__(self, params, lr=1e-3, foreach=None, fused=None):
        super().__init__(params, dict(lr=lr, foreach=foreach, fused=fused))
    def step(self): pass
class Nested(SGD):
    def step(self): super().step()
''',
    "torch/optim/optimizer.py": '''
import functools
import torch
def disable_dynamo(f):
    @functools.wraps(f)
    def inner(*args, **kwargs): return f(*args, **kwargs)
    return inner
class Optimizer:
    def __init__(self, params, defaults):
        self.defaults = defaults
        self.param_groups = [dict(defaults, params=list(params))]
        cls = type(self)
        if not getattr(cls.step, "hooked", None):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True
    @staticmethod
    def profile_hook_step(func):
        @functools.wraps(func)
        def wrapper(self, *args, **kwargs):
            with torch.autograd.profiler.record_function(f"Optimizer.step#{type(self).__name__}.step"):
                out = func(self, *args, **kwargs)
                self._optimizer_step_code()
                return out
        return wrapper
    def _optimizer_step_code(self): pass
    @disable_dynamo
    def zero_grad(self, set_to_none=True): print("zero_grad", set_to_none)
''',
    "torch/distributed/__init__.py": "",
    "torch/distributed/fsdp/__init__.py": "from torch.distributed.fsdp._fully_shard import _fsdp_state",
    "torch/distributed/fsdp/_fully_shard/__init__.py": "",
    "torch/distributed/fsdp/_fully_shard/_fsdp_state.py": """class FSDPState:
    def _root_pre_forward(self, module, args, kwargs): return args, kwargs
""",
    "torch/utils/__init__.py": "",
    "torch/utils/checkpoint.py": '''
def check_backward_validity(inputs): pass
def _checkpoint_without_reentrant_generator(f, *args): yield
def checkpoint(f, *args, use_reentrant=None):
    for _ in _checkpoint_without_reentrant_generator(f, *args): pass
    return f(*args)
''',
    "torch/utils/data/__init__.py": '''
from torch.utils.data.dataloader import DataLoader, IterableDataset
def get_worker_info(): return None
''',
    "torch/utils/data/_utils/__init__.py": "from torch.utils.data._utils import fetch, pin_memory",
    "torch/utils/data/_utils/pin_memory.py": "def pin_memory(data, device=None): return data",
    "torch/utils/data/_utils/fetch.py": '''
class _BaseDatasetFetcher:
    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset, self.collate_fn = dataset, collate_fn
class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def fetch(self, index): return self.collate_fn(next(self.dataset))
class _MapDatasetFetcher(_BaseDatasetFetcher):
    def fetch(self, index): return self.collate_fn([self.dataset[i] for i in index])
''',
    "torch/utils/data/dataloader.py": '''
from torch.utils.data import _utils
class IterableDataset: pass
class DataLoader:
    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, timeout=0,
                 worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="",
                 in_order=True):
        self.dataset, self.batch_size, self.num_workers = dataset, batch_size, num_workers
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self.pin_memory, self.collate_fn = pin_memory, collate_fn or (lambda samples: samples[0])
    def __iter__(self): return _BaseDataLoaderIter(self)
class _DatasetKind:
    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        return _utils.fetch._MapDatasetFetcher(dataset, auto_collation, collate_fn, drop_last)
class _BaseDataLoaderIter:
    def __init__(self, loader):
        self.loader, self.at = loader, 0
        self.fetcher = _DatasetKind.create_fetcher(0, loader.dataset, True, loader.collate_fn, False)
    def __iter__(self): return self
    def __next__(self):
        if self.at >= len(self.loader.dataset): raise StopIteration
        self.at += 1
        return self.fetcher.fetch([self.at - 1])
''',
}


def write(test, folder):
    for name, text in FILES.items():
        test.write(f"{folder}/{name}", text.lstrip("\n"))
    return test.path(folder)
