"""With GPUPROF_MODULES=1: a range for each call of a module, "layer1.0.conv1 (Conv2d)". Uses
PyTorch's hooks for all modules; a call costs some 3 us. torch.compile would put these hooks into
its graphs, so they are removed when it is called."""
import threading

facts = hook.here["facts"]
agent, now, guarded, torch = hook.agent, hook.now, hook.guarded, hook.torch
names = {}  # id of a module: its name within the outermost module that was called
state = threading.local()


def name_all(root):
    for name, module in root.named_modules():
        names[id(module)] = f"{name or 'model'} ({type(module).__name__})"


def begin(module, args):
    stack = state.__dict__.setdefault("stack", [])
    if not stack and id(module) not in names:
        name_all(module)
    stack.append((module, now()))


def end(module, args, output):
    stack = state.__dict__.get("stack", ())
    while stack:  # a call that raised did not end here: skip its entry
        began, start_ns = stack.pop()
        if began is module:
            name = names.get(id(module)) or f"({type(module).__name__})"
            agent.gpuprof_hook_range(hook.encoded(name), start_ns, now(), 1 + len(stack))
            return


@guarded
def hook_modules():
    hooks = torch.nn.modules.module
    handles = [hooks.register_module_forward_pre_hook(guarded(begin)),
               hooks.register_module_forward_hook(guarded(end))]
    hook.undo_at_compile.extend(handle.remove for handle in handles)
    hook.fact(facts.TORCH_MODULE_RANGES, "on")
