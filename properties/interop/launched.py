"""One script for every launcher: its launcher, its process group, a sum over it, and its end."""
import os

import torch
import torch.distributed as dist

launched = dist.is_torchelastic_launched()
if "RANK" in os.environ:
    dist.init_process_group("gloo")
total = torch.ones(1)
if dist.is_initialized():
    dist.all_reduce(total)
    said = f"rank {dist.get_rank()} of {dist.get_world_size()} over {dist.get_backend()}"
    dist.destroy_process_group()
else:
    said = "alone"
print(f"launched={launched} {said} sum={int(total)} after={dist.is_initialized()}", flush=True)
