#!/usr/bin/env python3
"""The part of the Python hook that finds gradients which nobody uses (gpuprof_unused.py), by itself, with stand-ins for PyTorch's graph,
weights and optimizers: what it tells the agent of, and in which programs it is silent.

usage: unused.py BUILD
"""
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from support import Checks  # noqa: E402

HOOK = os.path.join(HERE, "..", "..", "agent", "python", "gpuprof_unused.py")


def names_of(code):
    """As gpuprof_again's."""
    return set(code.co_names).union(*(names_of(one) for one in code.co_consts if isinstance(one, types.CodeType)))


class Tensor:
    def __init__(self, grad_fn=None):
        self.grad_fn, self.grad, self._version = grad_fn, None, 0

    def __eq__(self, other):
        raise RuntimeError("tensors are compared: that launches work")

    __hash__ = object.__hash__


class Parameter(Tensor):
    pass


class FunctionCtx:
    """A function of the program's own."""


class Node:
    numbers = 0

    def __init__(self, *below):
        Node.numbers += 1
        self.number, self.next_functions = Node.numbers, tuple((b, 0) for b in below)

    def _sequence_nr(self):
        return self.number


class Own(Node, FunctionCtx):
    pass


class AccumulateGrad(Node):
    def __init__(self, variable):
        self.variable, self.next_functions = variable, ()

    def _sequence_nr(self):
        return (1 << 64) - 1


class Net:
    """Three layers, of a node and a weight each."""

    def __init__(self, kind=Node):
        self.weights, self.kind = [Parameter() for _ in range(3)], kind

    def __call__(self, *below):
        for weight in self.weights:
            below = [self.kind(AccumulateGrad(weight), *below)]
        return below[0]


class SGD:
    __module__ = "torch.optim.sgd"

    def __init__(self, program, *nets):
        self.program, self.steps = program, 0
        self.param_groups = [{"params": list(n.weights), "lr": 0.1} for n in nets]

    def step(self):
        self.steps += 1
        if self.steps == 1:
            self.program.unused.know_optimizer(self)

    def zero(self):
        for group in self.param_groups:
            for weight in group["params"]:
                weight.grad = None


class Rprop(SGD):
    """Its steps do not begin at its rate."""
    __module__ = "torch.optim.rprop"


class Foreign(SGD):
    """Nobody knows what its rate means."""
    __module__ = "program"


class Program:
    """What the hook is told by and tells."""

    def __init__(self):
        self.facts, self.of, self.numbers, self.optimizers = [], None, set(), []
        engine = types.SimpleNamespace(gpuprof_hook_unused=lambda a, b: self.numbers.update(range(a, b + 1)),
                                       gpuprof_hook_steps=lambda i: next(o.steps for o in self.optimizers if id(o) == i))
        torch = types.SimpleNamespace(Tensor=Tensor, nn=types.SimpleNamespace(Parameter=Parameter),
                                      autograd=types.SimpleNamespace(function=types.SimpleNamespace(FunctionCtx=FunctionCtx)))
        facts = types.SimpleNamespace(TORCH_COMPILE="compile", TORCH_FSDP="fsdp", TORCH_DEEPSPEED="deepspeed", TORCH_GRADIENTS_UNUSED="unused",
                                      TORCH_GRADIENTS_UNUSED_WHY="why", UNUSED_OWNERLESS="ownerless", UNUSED_AT_REST="at rest", UNUSED_ZEROED="zeroed",
                                      TORCH_GRADIENTS_UNUSED_OF="of", UNUSED_OF_WEIGHTS="weights")
        hook = types.SimpleNamespace(here={"facts": facts, "again": types.SimpleNamespace(names_of=names_of)}, torch=torch, agent=engine, known={}, FOLDER="/hook/", torch_folder="/torch/",
                                     user_place=lambda: "train.py:9", fact=lambda key, text: self.facts.append(text) if key != "of" else setattr(self, "of", text))
        self.unused = types.ModuleType("unused")
        self.unused.hook = hook
        with open(HOOK, encoding="utf-8") as f:
            exec(compile(f.read(), HOOK, "exec"), self.unused.__dict__)

    def optimizer(self, *nets, kind=SGD):
        self.optimizers.append(kind(self, *nets))
        return self.optimizers[-1]

    def backward(self, loss):
        self.unused.look((None, (Tensor(loss),), (None,), False, False, ()))
        below = [loss]
        while below:
            node = below.pop()
            if isinstance(node, AccumulateGrad):
                node.variable.grad = Tensor()
            below.extend(n for n, _ in node.next_functions)


def head_alone(p):
    """Of an encoder no optimizer has the weights: its three nodes, not those of the head."""
    encoder, head = Net(), Net()
    o, nodes = p.optimizer(head), set()
    for step in range(8):
        first = Node.numbers + 1
        out = encoder()
        if step >= 4:
            nodes.update(range(first, Node.numbers + 1))
        loss = Node(head(out))
        o.zero()
        p.backward(loss)
        o.step()
    return bool(p.facts) and p.facts[-1] == "ownerless" and nodes <= p.numbers and len(p.numbers - nodes) <= 3


def at_rest(p, kind=SGD, rates=(0.0,), twice=False):
    """The encoder's group has these rates, step by step, and then the last of them."""
    encoder, head = Net(), Net()
    o = p.optimizer(encoder, head, kind=kind)
    other = p.optimizer(encoder) if twice else o
    for step in range(12):
        o.param_groups[0]["lr"] = rates[min(step, len(rates) - 1)]
        p.backward(Node(head(encoder())))
        o.step()
        if twice:
            other.step()
    return p.facts[-1:]


def both_learn(p):
    encoder, head = Net(), Net()
    a, b = p.optimizer(encoder), p.optimizer(head)
    for step in range(12):
        a.zero(), b.zero()
        p.backward(Node(head(encoder())))
        a.step(), b.step()
    return p.facts


def adversaries(p, detach, every=1, freeze=False):
    """The judge learns in every so many steps. Of its pass for the generator its own nodes are told, not the
    generator's; not if it is frozen there."""
    made, judge = Net(), Net()
    g, d, of_generator = p.optimizer(made), p.optimizer(judge), set()
    for step in range(12 * every):
        if step % every == 0:
            d.zero()
            p.backward(Node(judge(*(() if detach else (made(),)))))
            d.step()
        g.zero()
        first = Node.numbers + 1
        below = made()
        of_generator.update(range(first, Node.numbers + 1))
        p.backward(Node(below if freeze else judge(below)))
        g.step()
    if p.of == "weights" and p.numbers & of_generator:
        return "the generator's"
    return bool(p.facts) and (p.facts[-1], p.of)


def loss_by_a_network(p, owned):
    """A loss that compares by a network of its own, which nobody froze, or which learns, too."""
    net, judge = Net(), Net()
    o = p.optimizer(net, judge) if owned else p.optimizer(net)
    for step in range(12):
        o.zero()
        p.backward(Node(judge(net())))
        o.step()
    return bool(p.facts) and (p.facts[-1], p.of)


def pieces(p, many=3):
    """Several passes add up to one step of two optimizers."""
    net, judge = Net(), Net()
    a, b = p.optimizer(net), p.optimizer(judge)
    for step in range(12):
        a.zero(), b.zero()
        for _ in range(many):
            p.backward(Node(judge(net())))
        a.step(), b.step()
    return p.facts


def gradients_are_read(p):
    """Two passes, whose gradients the program adds up itself before one step."""
    trunk, heads = Net(), [Net(), Net()]
    o = p.optimizer(trunk, *heads)
    for step in range(12):
        for head in heads:
            o.zero()
            p.backward(Node(head(trunk())))
        o.step()
    return p.facts


def comes_later(p):
    """An optimizer steps for the first time in the seventh step, and has the weights."""
    encoder, head = Net(), Net()
    o, late = p.optimizer(head), p.optimizer(encoder)
    for step in range(12):
        o.zero()
        p.backward(Node(head(encoder())))
        o.step()
        if step >= 6:
            late.step()
    return p.facts[-1:]


def written_by_hand(p):
    encoder, head = Net(), Net()
    o = p.optimizer(head)
    for step in range(12):
        o.zero()
        p.backward(Node(head(encoder())))
        o.step()
        for weight in encoder.weights:
            weight._version += 1
    return p.facts


def in_text(p, text):
    """A program of its own, whose update is this text; what this file names is not the program's."""
    p.unused.hook.FOLDER = HERE + os.sep
    encoder, head = Net(), Net()
    o = p.optimizer(head)
    program = ("for step in range(12):\n    o.zero()\n    p.backward(Node(head(encoder())))\n    o.step()\n"
               f"    for w in encoder.weights:\n        {text}\n")
    exec(compile(program, "train.py", "exec"), {"p": p, "o": o, "encoder": encoder, "head": head, "Node": Node})
    return bool(p.facts)


def functions_of_its_own(p):
    """Of these it is not known what else they reach."""
    encoder, head = Net(Own), Net()
    o = p.optimizer(head)
    for step in range(12):
        o.zero()
        p.backward(Node(head(encoder())))
        o.step()
    return p.facts


def copies_learn(p):
    """The optimizer has copies of all weights of the network."""
    net, copies = Net(), Net()
    o = p.optimizer(copies)
    for step in range(12):
        p.backward(Node(net()))
        o.step()
    return p.facts


def main():
    checks = Checks()
    for what, expected, found in (
            ("a head that learns alone", True, head_alone(Program())),
            ("an encoder whose rate is 0", ["at rest"], at_rest(Program())),
            ("one whose rate warms up from 0", [], at_rest(Program(), rates=(0.0, 0.001, 0.002))),
            ("one that another optimizer changes", [], at_rest(Program(), twice=True)),
            ("a rate that is a tensor", [], at_rest(Program(), rates=(Tensor(),))),
            ("an optimizer whose steps do not begin at its rate", [], at_rest(Program(), kind=Rprop)),
            ("an optimizer of the program's own at rate 0", [], at_rest(Program(), kind=Foreign)),
            ("two optimizers", [], both_learn(Program())),
            ("a generator whose gradients are zeroed", ("zeroed", None), adversaries(Program(), False)),
            ("one that is detached: those of its judge", ("zeroed", "weights"), adversaries(Program(), True)),
            ("a judge that learns in every third step", ("zeroed", "weights"), adversaries(Program(), True, every=3)),
            ("one that is frozen for the generator", False, adversaries(Program(), True, freeze=True)),
            ("a loss by a network that nobody froze", ("ownerless", "weights"), loss_by_a_network(Program(), False)),
            ("one that learns", False, loss_by_a_network(Program(), True)),
            ("several passes for one step", [], pieces(Program())),
            ("gradients that the program reads", [], gradients_are_read(Program())),
            ("an optimizer that comes later", ["none"], comes_later(Program())),
            ("weights that the program writes itself", [], written_by_hand(Program())),
            ("a program that writes their values past all versions", False, in_text(Program(), "w.data = w.grad")),
            ("one that reads their values alone", True, in_text(Program(), "w.data = 0")),
            ("functions of the program's own", [], functions_of_its_own(Program())),
            ("an optimizer of copies", [], copies_learn(Program()))):
        checks.check(found == expected, what, f"{found} for {expected}")
    checks.done()
    return 0


sys.exit(main())
