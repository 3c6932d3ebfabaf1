"""Every optimizer, its hooks and its state; with `own`, LBFGS with a closure and optimizers of the program's own."""
import inspect
import sys

import torch
from torch import nn

import small


class Halving(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        """Own step."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.sub_(p.grad, alpha=group["lr"] / 2)
        with torch.enable_grad():
            return closure() if closure else "own"


class Loud(torch.optim.SGD):
    made = []

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Loud.made.append(cls.__name__)

    def step(self, closure=None):
        print("before", type(super().step).__name__, inspect.signature(super().step))
        return super().step(closure)

    def zero_grad(self, set_to_none=False):
        print("zero_grad", set_to_none)
        super().zero_grad(set_to_none)


class Louder(Loud):
    pass


class Wrapping:
    """As wrappers of optimizers do: it is none itself, and hands on what it does not know."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


def train(make, *arguments, closure=False, **settings):
    torch.manual_seed(1)
    model = small.Net()
    optimizer = make(model.parameters(), *arguments, **settings)
    calls = []
    if hasattr(optimizer, "register_step_pre_hook"):
        optimizer.register_step_pre_hook(lambda o, a, k: calls.append(("pre", type(o).__name__, len(a), sorted(k))))
        optimizer.register_step_post_hook(lambda o, a, k: calls.append(("post", len(a), sorted(k))))
    for x, y in small.loader():
        def again():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            return loss
        if closure:
            print("returned", small.bits(optimizer.step(again)))
        else:
            again()
            print("returned", optimizer.step())
    print(make.__name__, small.weights(model), len(calls), calls[:2], len(optimizer.state))
    print(sorted(optimizer.__dict__), [sorted(g) for g in optimizer.param_groups])
    print(repr(optimizer).splitlines()[0], inspect.signature(optimizer.step), optimizer.step.__qualname__)


def main():
    o = torch.optim
    if sys.argv[1:] == ["own"]:
        train(o.LBFGS, closure=True, lr=0.1, max_iter=3)
        train(Halving)
        train(Halving, closure=True)
        train(Loud, lr=0.1)
        train(Louder, lr=0.1)
        wrapped = Wrapping(o.SGD(small.Net().parameters(), lr=0.1))
        print(wrapped.step(), wrapped.zero_grad(), wrapped.step.__name__, inspect.signature(wrapped.zero_grad))
        print(Loud.made)
        return
    for make, settings in ((o.SGD, {"lr": 0.1}), (o.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}), (o.Adam, {}),
                           (o.AdamW, {"amsgrad": True}), (o.RMSprop, {}), (o.Adagrad, {}), (o.NAdam, {}), (o.RAdam, {}),
                           (o.Adam, {"foreach": True}), (o.Adamax, {}), (o.ASGD, {}), (o.Rprop, {}), (o.Adadelta, {})):
        train(make, **settings)
        train(make, closure=True, **settings)


main()
