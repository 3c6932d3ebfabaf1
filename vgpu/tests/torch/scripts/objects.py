"""Ranks send each other objects through the GPU: sizes, then bytes. Each object must arrive as it was sent."""
import torch
import torch.distributed as dist

SENT = (None, "/a/path", {"a": 1}, list(range(1000)))

dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank)
good = 0
for turn in range(3):
    for sent in SENT:
        box = [sent if rank == 0 else None]
        dist.broadcast_object_list(box, 0)
        good += box[0] == sent
    gathered = [None] * ranks
    dist.all_gather_object(gathered, (rank, turn))
    good += gathered == [(r, turn) for r in range(ranks)]
print(f"rank {rank}: {good} of {3 * (len(SENT) + 1)}", flush=True)
dist.destroy_process_group()
