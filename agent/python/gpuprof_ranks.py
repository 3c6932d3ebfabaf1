"""Several ranks: DDP, data parallelism, FSDP, DeepSpeed, process groups."""
import sys

facts = hook.here["facts"]
fact, once = hook.fact, hook.once
apply = hook.here["apply"]


def note_ddp(model, *_, **__):
    names = ("bucket_bytes_cap", "static_graph", "gradient_as_bucket_view",
             "find_unused_parameters")
    text = ", ".join(f"{n}={getattr(model, n)}" for n in names if hasattr(model, n))
    fact(facts.TORCH_DDP, f"DistributedDataParallel({text})")
    fact(facts.TORCH_DDP_WHERE, hook.user_place())
    buffers = list(getattr(getattr(model, "module", None), "buffers", list)())
    if getattr(model, "broadcast_buffers", False) and buffers:
        fact(facts.TORCH_DDP_BUFFERS, sum(b.numel() * b.element_size() for b in buffers))


def note_no_sync(*_, **__):
    fact(facts.TORCH_DDP_NO_SYNC, f"used at {hook.user_place()}")


def hook_ddp(module):
    apply.hook_ddp(module)
    once(module.DistributedDataParallel, "_ddp_init_helper", note_ddp)
    once(module.DistributedDataParallel, "no_sync", note_no_sync)


def note_data_parallel(model, *_, **__):
    fact(facts.TORCH_DATA_PARALLEL, f"DataParallel(device_ids={model.device_ids}) "
                                f"at {hook.user_place()}")


def hook_data_parallel(module):
    once(module.DataParallel, "forward", note_data_parallel)


def note_fsdp(*_, **__):
    fact(facts.TORCH_FSDP, "FullyShardedDataParallel")


def hook_fsdp(module):
    once(module.FullyShardedDataParallel, "forward", note_fsdp)


def note_fully_shard(*_, **__):
    fact(facts.TORCH_FSDP, "fully_shard")


def hook_fully_shard(module):
    once(module.FSDPState, "_root_pre_forward", note_fully_shard)


def note_sharded():
    """Finds FSDP in a program that compiles, where FSDP's own calls must not be watched: by the
    classes that it makes from FSDPModule and the module's class."""
    for name in ("torch.distributed.fsdp._fully_shard._fully_shard",
                 "torch.distributed._composable.fsdp.fully_shard"):  # until 2.5
        base = getattr(sys.modules.get(name), "FSDPModule", None)
        if base and any(len(made.__bases__) > 1 for made in base.__subclasses__()):
            note_fully_shard()


def note_groups():
    """Records the names that the program gives its process groups (those of a device mesh, of
    Megatron-LM), with their sizes and the distance between their ranks. Groups without a name are
    recorded as well: a name is only certain if no other group has that size."""
    world = getattr(sys.modules.get("torch.distributed.distributed_c10d"), "_world", None)
    told = set()
    for group, ranks in list((getattr(world, "pg_group_ranks", None) or {}).items()):
        name, ranks = getattr(group, "group_desc", None), sorted(ranks)
        if name is not None and len(ranks) > 1:  # the value is a number for groups without this rank
            apart = ranks[1] - ranks[0]
            regular = ranks == list(range(ranks[0], ranks[-1] + 1, apart))
            told.add((len(ranks), apart if regular else 0, name if name not in ("", "undefined") else "-"))
    # All of them, or none.
    if len(told) <= 32 and any(name not in ("-", "default_pg") for _, _, name in told):
        for number, (size, apart, name) in enumerate(sorted(told)):
            fact(f"{facts.TORCH_GROUP}.{number}", f"{size} {apart} {name}")


def note_deepspeed(engine, *_, **__):
    fact(facts.TORCH_DEEPSPEED, f"ZeRO {engine.zero_optimization_stage()}")


def hook_deepspeed(module):
    once(module.DeepSpeedEngine, "step", note_deepspeed)
