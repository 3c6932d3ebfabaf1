"""Schedulers of learning rates, which replace the optimizer's step on its instance to count it."""
import warnings

import torch

import small

S = torch.optim.lr_scheduler
model = small.Net()


def optimizer():
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


for make in (lambda o: S.StepLR(o, 2), lambda o: S.CosineAnnealingLR(o, 4), lambda o: S.OneCycleLR(o, 1.0, total_steps=12),
             lambda o: S.LambdaLR(o, lambda e: 0.9 ** e), lambda o: S.ReduceLROnPlateau(o, patience=1),
             lambda o: S.SequentialLR(o, [S.ConstantLR(o), S.ExponentialLR(o, 0.5)], [2]),
             lambda o: S.CyclicLR(o, 0.01, 0.1, step_size_up=2)):
    own = optimizer()
    schedule = make(own)
    rates = []
    for x, y in small.loader():
        own.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        own.step()
        schedule.step(*([loss.item()] if isinstance(schedule, S.ReduceLROnPlateau) else []))
        rates.append(small.bits(own.param_groups[0]["lr"]))
    print(type(schedule).__name__, rates, getattr(own, "_step_count", None), sorted(own.__dict__))
    print(type(own.step).__name__, getattr(own.step, "_with_counter", None), getattr(own.step, "_wrapped_by_lr_sched", None),
          own.step.__name__, own.step.__qualname__)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    own = optimizer()
    S.StepLR(own, 1).step()  # before the optimizer's: it warns
print([(w.category.__name__, w.filename.split("/")[-1], str(w.message)[:90]) for w in caught])
averaged = torch.optim.swa_utils.AveragedModel(model)
averaged.update_parameters(model)
torch.optim.swa_utils.update_bn(small.loader(), averaged)
print(small.weights(averaged))
