"""torch.fx and torch.export: graphs, their code, transforms, and what the passes see."""
import copy

import torch
import torch.fx

import small


class Reading(torch.nn.Module):
    def forward(self, x):
        return x.to(torch.float64).cpu().sum() + x.add(1).mean()


for module in (small.Net(), Reading()):
    graph = torch.fx.symbolic_trace(module)
    print(graph.code, graph.graph)
    print([(n.op, str(n.target).split(" at 0x")[0].split(" object")[0], n.name) for n in graph.graph.nodes])
    copied = copy.deepcopy(graph)
    print(small.bits(copied(torch.ones(1, 4)).sum()), copied.code == graph.code)
    graph.train(), graph.eval()
    torch.fx.Interpreter(graph).run(torch.ones(1, 4))
if hasattr(torch, "export") and hasattr(torch.export, "export"):
    program = torch.export.export(small.Net(), (torch.ones(2, 4),))
    print(program.graph)
    print(program.graph_signature)
if hasattr(torch, "func"):
    from torch.func import functional_call, grad, vmap

    net = small.Net()
    values = dict(net.named_parameters())
    print({k: small.bits(v.sum()) for k, v in grad(lambda p: functional_call(net, p, (torch.ones(1, 4),)).sum())(values).items()})
    print(vmap(lambda x: x.sum() * 2)(torch.ones(3, 2)).tolist())
    from torch.fx.experimental.proxy_tensor import make_fx

    print(make_fx(lambda x: (x.sin() * 2).sum())(torch.ones(2)).code)
