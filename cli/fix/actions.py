"""What gpuprof advises as changes of a Python file: one function for each action (docs/json.schema.json, "remedy"). It takes the files in
question and the remedy, and changes a Source or raises CannotEdit. What it returns is a note about what the user should look at,
or nothing."""
import ast

from source import CannotEdit, last_name, name_of

ACTIONS = {}


def action(*names):
    def known(function):
        ACTIONS.update(dict.fromkeys(names, function))
        return function
    return known


def called(now):
    """"DataLoader" of "DataLoader(num_workers=0)"."""
    return (now or "").partition("(")[0].strip()


def one_call(files, names, line_at):
    """(source, call): at the remedy's place, or the only one of these names in the program's files."""
    source, line = line_at
    if source:
        return source, source.call(names, line)
    found = [(s, c) for s in files for c in s.calls(names)]
    if len(found) != 1:
        raise CannotEdit(f"{len(found) or 'no'} calls of {' or '.join(sorted(names))} in {', '.join(s.shown for s in files)}")
    return found[0]


# how many arguments of DataLoader stand before these
WORKERS, PIN_MEMORY, PERSISTENT = 5, 7, 15


def loader(files, remedy, place):
    return one_call(files, {called(remedy["now"]) or "DataLoader"}, place)


@action("set_workers")
def set_workers(files, remedy, place):
    source, call = loader(files, remedy, place)
    workers = remedy["params"]["workers"]
    if workers == 0:
        needs = [k.arg for k in call.keywords if k.arg in ("persistent_workers", "prefetch_factor", "timeout")]
        if needs:
            raise CannotEdit(f"line {call.lineno} says {' and '.join(needs)}, which need workers")
    elif "start_method" in remedy["params"] and not guarded(source):
        raise CannotEdit("workers import the program again, and it has no `if __name__ == '__main__':`")
    source.set_keyword(call, "num_workers", str(workers), WORKERS)
    if workers and "made_anew" not in remedy["conditions"]:
        source.set_keyword(call, "persistent_workers", "True", PERSISTENT)


def guarded(source):
    return any(isinstance(n, ast.If) and "__name__" in source.written(n.test) for n in source.tree.body)


@action("keep_workers")
def keep_workers(files, remedy, place):
    source, call = loader(files, remedy, place)
    if len(call.args) <= WORKERS and all(k.arg and (k.arg != "num_workers" or source.written(k.value) == "0") for k in call.keywords):
        raise CannotEdit(f"line {call.lineno} asks for no workers to keep")
    source.set_keyword(call, "persistent_workers", "True", PERSISTENT)


@action("pin_batches")
def pin_batches(files, remedy, place):
    source, call = loader(files, remedy, place)
    source.set_keyword(call, "pin_memory", "True", PIN_MEMORY)
    copies = copies_of_batches(source, call)
    for copy in copies:
        without_waiting(source, copy)
    return None if copies else "add non_blocking=True where the batches go to the GPU"


def without_waiting(source, call):
    """x.to(device, dtype, non_blocking), x.to(dtype, non_blocking) or x.cuda(device, non_blocking)."""
    of_two = last_name(call) == "cuda" or any(isinstance(a, ast.Constant) and isinstance(a.value, bool) for a in call.args)
    source.set_keyword(call, "non_blocking", "True", 1 if of_two else 2)


def copies_of_batches(source, loader_call):
    """x.to(...) and x.cuda(...) of what a loop over the loader yields, while x is still that."""
    assign = source.parents[loader_call]
    if not isinstance(assign, ast.Assign):
        return []
    names = {name_of(t) for t in assign.targets}
    found = []
    for loop in source.nodes(ast.For):
        if not any(name_of(n) in names for n in ast.walk(loop.iter) if isinstance(n, (ast.Name, ast.Attribute))):
            continue
        batch = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        found += [c for n in loop.body for c in ast.walk(n) if isinstance(c, ast.Call) and is_copy(c, batch)]
    return found


def is_copy(call, names):
    return (isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda") and
            isinstance(call.func.value, ast.Name) and call.func.value.id in names)


@action("copy_without_waiting", "upload_without_waiting")
def copy_without_waiting(files, remedy, place):
    source, call = one_call(files, {"to", "cuda"}, place)
    without_waiting(source, call)


def optimizer(files, remedy, place):
    name = remedy["params"].get("optimizer")
    if not name:
        raise CannotEdit("the class of the optimizer was not recorded")
    return one_call(files, {name}, place)


def update_by(way, files, remedy, place):
    source, call = optimizer(files, remedy, place)
    for keyword in call.keywords:
        if keyword.arg in ("fused", "foreach") and keyword.arg != way:
            source.drop_keyword(call, keyword)
    source.set_keyword(call, way, "True")


@action("fuse_optimizer")
def fuse_optimizer(files, remedy, place):
    return update_by("fused", files, remedy, place)


@action("update_by_lists")
def update_by_lists(files, remedy, place):
    return update_by("foreach", files, remedy, place)


@action("launch_as_graph")
def launch_as_graph(files, remedy, place):
    """Graphs of a backward pass cannot add to gradients that are there: PyTorch ends the program. So they are set to None."""
    for source in files:
        for call in source.calls({"backward"}):
            if keeps_gradients(source, call):
                raise CannotEdit(f"line {call.lineno} adds to the gradients of the pass before, which a graph cannot")
    note = compile_model(files, 'mode="reduce-overhead"')
    for source, call in zeroing(files):
        for keyword in call.keywords:
            source.drop_keyword(call, keyword)
        for value in call.args:
            source.replace(value, "True")
    return note


def keeps_gradients(source, backward):
    """The loop around a backward pass zeroes gradients elsewhere, or in some of its turns."""
    loop = backward
    while loop is not None and not isinstance(loop, (ast.For, ast.While, ast.FunctionDef)):
        loop = source.parents.get(loop)
    if loop is None or isinstance(loop, ast.FunctionDef) or not source.calls({"zero_grad"}):
        return False
    every_turn = [n for n in loop.body if not isinstance(n, (ast.If, ast.For, ast.While))]
    return not any(isinstance(c, ast.Call) and last_name(c) == "zero_grad" for n in every_turn for c in ast.walk(n))


@action("fuse_pointwise")
def fuse_pointwise(files, remedy, place):
    return compile_model(files, "")


def compile_model(files, arguments):
    """Module.compile() compiles in place: names of parameters, and checkpoints, stay."""
    for source in files:
        if any(name_of(c.func) not in ("re.compile", "compile") for c in source.calls({"compile"})):
            raise CannotEdit(f"{source.shown} calls compile already")
    source, statement, model = only_model(files)
    if any(b".compile(" in text for _, _, text in source.changes):
        raise CannotEdit("a change above compiles it already")
    source.insert_after(statement, f"{model}.compile({arguments})")
    return "the first steps compile, and take minutes for large models"


def only_model(files):
    """(source, statement, name): the model whose parameters the program's only optimizer gets, and where it gets them."""
    found = []
    for source in files:
        for call in source.nodes(ast.Call):
            first = call.args[0] if call.args else None
            if (isinstance(first, ast.Call) and last_name(first) == "parameters" and isinstance(first.func, ast.Attribute) and
                    isinstance(source.parents[call], ast.Assign)):
                found.append((source, source.parents[call], source.written(first.func.value)))
    if len(found) != 1:
        raise CannotEdit(f"{len(found) or 'no'} optimizers of MODEL.parameters() in {', '.join(s.shown for s in files)}")
    return found[0]


@action("use_channels_last")
def use_channels_last(files, remedy, place):
    """The format of the weights is that of what a convolution makes. Module.to() keeps the parameters that the optimizer has."""
    for source in files:
        for node in source.nodes(ast.Attribute):
            if node.attr == "channels_last":
                raise CannotEdit(f"line {node.lineno} asks for it; see that the model and what it gets have this format")
        for call in source.calls({"deepcopy", "AveragedModel"}): # weights in two formats are averaged one by one
            raise CannotEdit(f"line {call.lineno} copies a model, and the copy needs this format as well")
    source, statement, model = only_model(files)
    source.insert_after(statement, f"{model}.to(memory_format=torch.channels_last)")
    return "the first convolution then converts each batch; x.to(memory_format=torch.channels_last) where it is copied saves that"


@action("keep_activations")
def keep_activations(files, remedy, place):
    """checkpoint(f, x, use_reentrant=False) becomes f(x)."""
    own = {"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"}
    found = [(s, c) for s in files for c in s.calls_of("torch.utils.checkpoint", "checkpoint")]
    if not found:
        raise CannotEdit("no call of torch.utils.checkpoint.checkpoint")
    for source, call in found:
        if not call.args or isinstance(call.args[0], ast.Starred) or any(k.arg is None for k in call.keywords):
            raise CannotEdit(f"line {call.lineno} does not write what it computes again")
        function = source.written(call.args[0])
        if not isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
            function = f"({function})"
        rest = [*call.args[1:], *(k for k in call.keywords if k.arg not in own)]
        source.replace(call, f"{function}({', '.join(source.written(a) for a in rest)})")
    return "it takes more memory"


@action("overwrite_gradients")
def overwrite_gradients(files, remedy, place):
    found = [(s, c, k) for s, c in zeroing(files) for k in c.keywords]
    if not found:
        raise CannotEdit("no zero_grad(set_to_none=False)")
    for source, call, keyword in found:
        source.drop_keyword(call, keyword)


def zeroing(files):
    """Calls of zero_grad that keep the gradients: (source, call)."""
    return [(s, c) for s in files for c in s.calls({"zero_grad"})
            if any(k.arg == "set_to_none" and s.written(k.value) != "True" for k in c.keywords) or
            any(isinstance(a, ast.Constant) and a.value is False for a in c.args)]


@action("measure_algorithms")
def measure_algorithms(files, remedy, place):
    for source in files:
        for node in source.nodes(ast.Assign):
            if any(name_of(t).endswith("cudnn.benchmark") for t in node.targets):
                return source.replace(node.value, "True")
    files[0].insert_import_setting("torch", "torch.backends.cudnn.benchmark = True")


@action("fix_shapes")
def search_no_algorithms(files, remedy, place):
    """Where sizes vary, each new one is searched for again."""
    source, line = place
    if "benchmark_on" not in remedy["conditions"] or not source:
        raise CannotEdit("which sizes a program can keep is the author's to decide")
    found = [n for n in source.nodes(ast.Assign, line) if any(name_of(t).endswith("cudnn.benchmark") for t in n.targets)]
    if len(found) != 1:
        raise CannotEdit(f"line {line} does not set cudnn.benchmark")
    source.replace(found[0].value, "False")


@action("mix_precision", "use_tensor_cores")
def allow_tf32(files, remedy, place):
    if "tf32_first" not in remedy["conditions"]:
        raise CannotEdit("where 16 bits are enough is the author's to decide")
    for source in files:  # what the program says of it comes later than the imports
        for call in source.calls({"set_float32_matmul_precision"}):
            if not (call.args and isinstance(call.args[0], ast.Constant)):
                raise CannotEdit(f"line {call.lineno} sets the precision to what is not known before")
            return source.replace(call.args[0], '"high"') if call.args[0].value == "highest" else None
        for node in source.nodes(ast.Assign):
            if any(name_of(t).endswith("cuda.matmul.allow_tf32") for t in node.targets):
                return source.replace(node.value, "True")
    files[0].insert_import_setting("torch", 'torch.set_float32_matmul_precision("high")')


@action("stop_anomaly_detection")
def stop_anomaly_detection(files, remedy, place):
    source, call = one_call(files, {"set_detect_anomaly", "detect_anomaly"}, place)
    owner = name_of(call.func).rpartition(".")[0]
    source.replace(call, f"{owner}{'.' * bool(owner)}set_detect_anomaly(False)")


@action("keep_own_buffers")
def keep_own_buffers(files, remedy, place):
    source, call = one_call(files, {"DistributedDataParallel", "DDP"}, place)
    source.set_keyword(call, "broadcast_buffers", "False", 4)


@action("use_single_precision")
def use_single_precision(files, remedy, place):
    source, line = place
    if not source:
        raise CannotEdit("the line that asks for 64 bits was not recorded")
    others = sorted({n.lineno for n in double_of(source, None)} - {n.lineno for n in double_of(source, line)})
    if others:
        raise CannotEdit(f"the types of both must be the same, and 64 bits are asked for on line {', '.join(map(str, others))} as well")
    single_from_numpy(source)
    for node in double_of(source, line):
        if isinstance(source.parents[node], ast.Call) and source.parents[node].func is node:
            source.replace(node, source.written(node.value) + ".float")
        else:
            source.replace(node, name_of(node.value) + ".float32")
    if not double_of(source, line):
        raise CannotEdit(f"line {line} names no type of 64 bits")


NUMPY_DOUBLES = {"randn", "rand", "random", "random_sample", "normal", "uniform", "standard_normal", "linspace", "zeros", "ones"}
SET_TYPE = {"float", "half", "bfloat16", "long", "int", "bool", "to", "type"}


def single_from_numpy(source):
    """What NumPy makes has 64 bits if nothing is said: as the model gets it, it must have the model's type."""
    for call in source.calls({"from_numpy", "as_tensor", "tensor"}):
        made = call.args[0] if call.args else None
        of_numpy = any(name_of(n) in ("np", "numpy") for n in ast.walk(call) if isinstance(n, ast.Name))
        after = source.parents[call]
        typed = isinstance(after, ast.Attribute) and after.attr in SET_TYPE or any(k.arg == "dtype" for k in call.keywords)
        if typed or not of_numpy and last_name(call) != "from_numpy":
            continue
        if not (isinstance(made, ast.Call) and last_name(made) in NUMPY_DOUBLES and not any(k.arg == "dtype" for k in made.keywords)):
            raise CannotEdit(f"what line {call.lineno} takes from NumPy may have 64 bits, too")
        source.insert_behind(call, ".float()")
    for function in source.nodes(ast.FunctionDef):
        if function.name == "__getitem__" and any(name_of(n) in ("np", "numpy") for n in ast.walk(function) if isinstance(n, ast.Name)):
            raise CannotEdit(f"what line {function.lineno} makes by NumPy may have 64 bits, too")


def double_of(source, line):
    """x.double() and torch.float64: the attributes."""
    def asks(node):
        if isinstance(source.parents[node], ast.Call) and source.parents[node].func is node:
            return node.attr == "double"
        return node.attr in ("float64", "double") and name_of(node.value) in ("torch", "np", "numpy")
    return [n for n in source.nodes(ast.Attribute, line) if asks(n)]


@action("allocate_once", "keep_memory_pool")
def no_empty_cache(files, remedy, place):
    delete_call(files, {"empty_cache"}, place)


@action("set_compute_threads")
def no_thread_limit(files, remedy, place):
    delete_call(files, {"set_num_threads"}, place)


@action("collect_garbage_rarely")
def collect_no_garbage(files, remedy, place):
    delete_call(files, {"collect"}, place)


CLOCKS = {"time", "perf_counter", "monotonic", "perf_counter_ns", "time_ns", "monotonic_ns", "default_timer", "elapsed_time"}


@action("remove_synchronize")
def no_synchronize(files, remedy, place):
    """Not where a clock is read beside it: then the program measures a time, which would be wrong."""
    source, call = one_call(files, {"synchronize"}, place)
    block = source.block(source.statement(call))
    at = block.index(source.statement(call))
    for beside in block[max(0, at - 1):at + 2]:
        if any(isinstance(c, ast.Call) and last_name(c) in CLOCKS for c in ast.walk(beside)):
            raise CannotEdit(f"line {call.lineno} waits for a time that the program measures")
    if name_of(call.func).rpartition(".")[0] not in ("torch.cuda", "cuda", "torch.accelerator"):
        raise CannotEdit(f"line {call.lineno} waits for one stream or event")
    delete_call(files, {"synchronize"}, place)


def delete_call(files, names, place):
    source, call = one_call(files, names, place)
    statement = source.parents[call]
    if not isinstance(statement, ast.Expr):
        raise CannotEdit(f"line {call.lineno} uses what {last_name(call)} returns")
    source.delete(statement)


@action("read_rarely", "wait_less")
def keep_on_gpu(files, remedy, place):
    """x += n * loss.item() and losses.append(loss.item()): what is summed or kept stays on the GPU until it is read."""
    source, line = place
    if not source:
        raise CannotEdit("the line that waits was not recorded")
    call = value = source.call({"item"}, line)
    while isinstance(source.parents[value], ast.BinOp) and isinstance(source.parents[value].op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        value = source.parents[value]
    user = source.parents[value]
    if isinstance(user, ast.AugAssign) and user.value is value:
        kept = source.written(user.target)
    elif isinstance(user, ast.Call) and last_name(user) == "append" and user.args == [value]:
        kept = source.written(user.func.value)
    else:
        raise CannotEdit(f"line {line} uses the number at once: read it every hundredth step")
    source.replace(call, source.written(call.func.value) + ".detach()")
    return f"{kept} holds tensors then: call .item() where it is read"
