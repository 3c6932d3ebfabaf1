"""Finds backward passes that compute gradients nobody uses: of weights that no optimizer has, whose learning rate is
0, or that are zeroed before their optimizer steps. Tells the agent which nodes of the graph lead to nothing else; where
there are none, those that compute such gradients beside others that are needed."""
import os
import sys
import types
import weakref

facts = hook.here["facts"]
torch = hook.torch
names_of = hook.here["again"].names_of
attributes = object.__getattribute__  # runs nothing of the program's

MOST_NODES = 4096  # of a graph, at 2.5 us each (one core of a virtual machine); larger ones are left alone
SURE = 2  # passes before what they show is believed
MOST_LOOKS, MOST_TOLD = 5, 6  # passes looked at for each place, and more of them where there is something to tell
DEEPEST = 8  # lines of the program that tell one place from another
LEAST = 5  # per cent of a pass's nodes that are worth telling
MOST_WAITS = 15  # passes at a place whose gradients had neither been used nor zeroed when the next pass came
# Optimizers of PyTorch that change no weight of a group whose rate is 0 (Rprop does).
RESTING = {"SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta"}
owners = {}  # id of a weight: id of the optimizer that has it
optimizers = {}  # id of an optimizer: a weak reference to it
written = {}  # id of a weight without an optimizer: its version when it was first met
touched = {}  # id of an optimizer: (where, its steps then) of the last pass that reached its weights
seen = {}  # (where, id of an optimizer): how often such a pass's gradients were thrown away, and used
met = {}  # where: passes that were looked at since the last new optimizer
found = {}  # where: of these, how many were told
learning = True  # until a place has been looked at often enough
most = 0  # the largest share of a pass that was told, in per cent
of = None  # what the agent was told of first, and is told of alone: nodes that compute nothing else, or weights
waits = {}  # where: passes that were not counted because their gradients' fate was open
told = set()  # ids of the weights without an optimizer of which the agent was told
by_hand = None  # whether the program may write weights where no version counts it; None: not asked yet


def know_optimizer(optimizer):
    """At its first step. What was learnt before it does not hold."""
    global learning, most
    learning = True
    optimizers[id(optimizer)] = weakref.ref(optimizer)
    for group in optimizer.param_groups:
        owners.update((id(p), id(optimizer)) for p in group["params"])
    seen.clear()
    touched.clear()
    met.clear()
    found.clear()
    if told & owners.keys():
        told.clear()
        most = 0
        hook.fact(facts.TORCH_GRADIENTS_UNUSED, "none")


def where():
    """The lines of the program that lead to this pass."""
    frame, lines = sys._getframe(1), []
    while frame and len(lines) < DEEPEST:
        file = frame.f_code.co_filename
        if not file.startswith((hook.FOLDER, hook.torch_folder)):
            lines.append((file, frame.f_lineno))
        frame = frame.f_back
    return tuple(lines)


def own_code():
    """The program's own code: what runs now, with all that it defines, and its modules' functions."""
    frame, aside = sys._getframe(1), (hook.FOLDER, hook.torch_folder, os.path.dirname(os.__file__), "<frozen ")
    while frame:
        if not frame.f_code.co_filename.startswith(aside):
            yield frame.f_code
        frame = frame.f_back
    for module in list(sys.modules.values()):
        own = attributes(module, "__dict__") if issubclass(type(module), types.ModuleType) else {}
        file = own.get("__file__")
        if type(file) is not str or file.startswith(aside) or "/site-packages/" in file or "/dist-packages/" in file:
            continue
        for one in list(own.values()):
            for part in [one, *(list(type.__dict__["__dict__"].__get__(one).values()) if issubclass(type(one), type) else ())]:
                if type(part) is types.FunctionType:
                    yield part.__code__


def writes_by_hand():
    """Does the program name the data and the gradients of tensors? It may then be its own optimizer: no version
    counts what is written through `.data`."""
    global by_hand
    if by_hand is None:
        names = set().union(*map(names_of, own_code()))
        by_hand = {"data", "grad"} <= names or "vector_to_parameters" in names
    return by_hand


class Graph:
    """The graph below the roots: its nodes in an order in which each comes behind those that it leads to."""

    def __init__(self, roots):
        self.order, self.below, self.whole = [], {}, True
        todo = [(node, False) for node in roots if node is not None]
        while todo:
            node, over = todo.pop()
            if over:
                self.order.append(node)
            elif node not in self.below:
                if len(self.below) >= MOST_NODES:
                    self.whole = False
                    return
                self.below[node] = [n for n, _ in node.next_functions if n is not None]
                todo.append((node, True))
                todo.extend((n, False) for n in self.below[node] if n not in self.below)

    def weights(self):
        """By leaf: the weight; None for a tensor that is none, and for a function of the program's own, of
        which not all is known."""
        leaves = {}
        for node in self.order:
            if type(node).__name__ == "AccumulateGrad":
                tensor = node.variable
                leaves[node] = tensor if type(tensor) is torch.nn.Parameter else None
            elif isinstance(node, torch.autograd.function.FunctionCtx) or not self.below[node]:
                leaves[node] = None
        return leaves

    def lead_to(self, useful):
        """The nodes that lead to one of these leaves, or are one."""
        led = set(useful)
        for node in self.order:
            if node not in led and any(n in led for n in self.below[node]):
                led.add(node)
        return led


def learn(here, reached):
    """Were the gradients of the last pass that reached an optimizer's weights zeroed before its step? As long as passes
    at one place add to them, that is open. Returns whether it is."""
    still_open = False
    for one, weight in reached.items():
        steps = hook.agent.gpuprof_hook_steps(one)
        if touched.get(one) == (here, steps) and weight.grad is not None:
            still_open = True
            continue
        if one in touched:
            place, then = touched[one]
            thrown = weight.grad is None and steps == then
            seen.setdefault((place, one), [0, 0])[not thrown] += 1
        touched[one] = (here, steps)
    return still_open


def thrown_away(here, reached):
    """The optimizers whose gradients from this pass are always thrown away, while another's are used."""
    counts = {one: seen.get((here, one), (0, 0)) for one in reached}
    used = any(kept and not thrown for thrown, kept in counts.values())
    return {one for one, (thrown, kept) in counts.items() if used and thrown >= SURE and not kept}


def at_rest():
    """Ids of the weights that some optimizer has, and none changes: the rate of their group is 0."""
    rests, learns = set(), set()
    for known in optimizers.values():
        optimizer = known()
        kind = type(optimizer)
        for group in attributes(optimizer, "__dict__").get("param_groups", ()) if optimizer is not None else ():
            still = kind.__module__.startswith("torch.optim") and kind.__name__ in RESTING and type(group.get("lr")) in (int, float)
            (rests if still and group["lr"] == 0 else learns).update(map(id, group["params"]))
    return rests - learns


def is_unused(weight, thrown, rests):
    if id(weight) in rests:
        return not writes_by_hand()
    if id(weight) in owners:
        return owners[id(weight)] in thrown
    return written.setdefault(id(weight), weight._version) == weight._version and not writes_by_hand()


def intervals(nodes, others):
    """Numbers of the nodes, from the first to the last between which no other node has one."""
    kept = sorted(n._sequence_nr() for n in others)
    runs, at = [], 0
    for number in sorted(n._sequence_nr() for n in nodes):
        while at < len(kept) and kept[at] < number:
            at += 1
        if runs and (at == 0 or kept[at - 1] < runs[-1][1]):
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def look(args):
    """Before a pass, with the arguments of the engine's run_backward(), perhaps behind the engine itself."""
    if not owners or facts.TORCH_COMPILE in hook.known or facts.TORCH_FSDP in hook.known or facts.TORCH_DEEPSPEED in hook.known:
        return
    global learning
    here = where()
    if met.get(here, 0) >= (MOST_LOOKS + MOST_TOLD if found.get(here) else MOST_LOOKS) or len(met) > MOST_NODES:
        return
    met[here] = met.get(here, 0) + 1
    learning = learning and met[here] < MOST_LOOKS
    roots = next((some for some in args if isinstance(some, tuple)), ())
    graph = Graph([t.grad_fn for t in roots if isinstance(t, torch.Tensor)])
    if not graph.whole:
        return
    leaves = graph.weights()
    weights = [w for w in leaves.values() if w is not None]
    reached = {owners[id(w)]: w for w in weights if id(w) in owners}
    if learning and learn(here, reached) and waits.get(here, 0) < MOST_WAITS:
        waits[here] = waits.get(here, 0) + 1
        met[here] -= 1
    thrown = thrown_away(here, reached)
    rests = at_rest()
    unused = [w for w in weights if is_unused(w, thrown, rests)]
    if unused and len(reached) > len(thrown) and met[here] > SURE:
        found[here] = found.get(here, 0) + tell(graph, leaves, {id(w) for w in unused}, rests, met[here] > SURE + 1)


def reason(unused, rests):
    """What holds for each of these weights."""
    if any(i in owners and i not in rests for i in unused):
        return facts.UNUSED_ZEROED
    return facts.UNUSED_AT_REST if unused & rests else facts.UNUSED_OWNERLESS


def views_of(graph, leaves, unused, useful):
    """Of such weights, below nodes that lead elsewhere as well: they launch nothing."""
    thrown = {leaf for leaf, w in leaves.items() if w is not None and id(w) in unused}
    below = {b for n in useful for b in graph.below[n]}
    return {n for n in below if n not in useful and graph.below[n] and thrown.issuperset(graph.below[n])}, thrown


def beside_others(graph, leaves, views, thrown, useful):
    """The nodes that compute a gradient of such a weight beside one that leads elsewhere: the weight lies below them, or
    below a view of it. Functions of the program's own are left out: of them not all is known."""
    return [n for n in graph.order if n in useful and n not in leaves and any(b in thrown or b in views for b in graph.below[n])]


def tell(graph, leaves, unused, rests, beside):
    """Returns whether a part of the graph worth telling leads to these weights alone or, if `beside`, to them beside
    others: a pass later, so that what leads to them alone comes first."""
    global most, of
    useful = graph.lead_to([leaf for leaf, w in leaves.items() if w is None or id(w) not in unused])
    inner = [n for n in graph.order if type(n).__name__ != "AccumulateGrad"]
    views, thrown = views_of(graph, leaves, unused, useful)
    nodes, what = [n for n in inner if n not in useful and n not in views], "all"
    if beside and 100 * len(nodes) < LEAST * len(inner):
        nodes, what = beside_others(graph, leaves, views, thrown, useful), facts.UNUSED_OF_WEIGHTS
    share = 100 * len(nodes) // max(1, len(inner))
    if share < LEAST or (of and of != what):
        return False
    of, chosen = what, set(nodes)
    for first, last in intervals(nodes, [n for n in inner if n not in chosen]):
        hook.agent.gpuprof_hook_unused(first, last)
    told.update(i for i in unused if i not in owners)
    if share > most:
        most = share
        hook.fact(facts.TORCH_GRADIENTS_UNUSED, f"{len(unused)} weights, {share} % of the nodes at {hook.user_place()}")
        hook.fact(facts.TORCH_GRADIENTS_UNUSED_WHY, reason(unused, rests))
        if what == facts.UNUSED_OF_WEIGHTS:
            hook.fact(facts.TORCH_GRADIENTS_UNUSED_OF, what)
    return True
