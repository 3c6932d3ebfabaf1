"""Looks at matrices of whole numbers that are copied to the GPU, as tokens and labels are: how many of
their last columns are padding in all rows, and how many labels no loss counts."""
facts = hook.here["facts"]
fact, guarded = hook.fact, hook.guarded
torch = hook.torch

LOOKS, PLACES, CALLS = 16, 8, 512  # matrices at each line; lines; copies until we stop
MOST = 1 << 20  # numbers of a matrix at which we look
TYPES = ("torch.int64", "torch.int32")
looks = {}  # line: matrices that we looked at
shares = {}  # (fact, line): shares seen
told = {}  # fact: the largest mean of them, and its line
calls = 0


def is_matrix(tensor):
    """True for one that the agent can read: plain, in the host's memory."""
    return (type(tensor) is torch.Tensor and str(tensor.dtype) in TYPES and tensor.device.type == "cpu"
            and tensor.dim() == 2 and min(tensor.shape) > 1 and tensor.numel() <= MOST
            and tensor.is_contiguous() and tensor.data_ptr() != 0)


@guarded
def note_copied(tensor):
    """Called with a tensor in the host's memory. Returns True after enough calls."""
    global calls
    calls += 1
    if calls < CALLS and is_matrix(tensor):
        place = hook.here["data"].own_place()
        if place in looks or len(looks) < PLACES:
            looks[place] = looks.get(place, 0) + 1
            if looks[place] <= LOOKS:
                look(tensor, place)
    return calls >= CALLS


def look(tensor, place):
    rows, columns = tensor.shape
    at, size = tensor.data_ptr(), tensor.element_size()
    used = hook.agent.gpuprof_hook_columns_used(at, size, rows, columns)
    ignored = hook.agent.gpuprof_hook_ignored(at, size, rows * columns)
    shape = f"{rows} x {columns}"
    if used:  # else all numbers are alike, as those of types: they say nothing
        tell(facts.TORCH_PADDING, 1 - used / columns, shape, place)
    if ignored:  # else it holds no labels
        tell(facts.TORCH_IGNORED, ignored / (rows * columns), shape, place)


def tell(key, share, shape, place):
    """Of several lines the one with the largest share counts."""
    of_line = shares.setdefault((key, place), [])
    of_line.append(share)
    mean = sum(of_line) / len(of_line)
    most, where = told.get(key, (0.0, place))
    if mean >= 0.01 and (mean > most or where == place):
        told[key] = mean, place
        fact(key, f"{100 * mean:.0f} % of {shape} at {place}")
