"""Trains a small network with DistributedDataParallel, keeps a checkpoint after each step and resumes from it.

usage: train.py KIND DIRECTORY [STEPS]. Trains until DIRECTORY/enough exists, or makes STEPS steps. Every step takes all
samples, shared among the ranks, so that the result is that of one process up to rounding, whatever the number of
ranks. Appends "step loss ranks" to DIRECTORY/curve.
"""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist
import worker_report
from torch.nn.parallel import DistributedDataParallel

steps = int(sys.argv[3]) if len(sys.argv) > 3 else None
SAMPLES = 60  # a multiple of 1, 2 and 3: equal shares
directory = sys.argv[2]
torch.set_num_threads(1)

# A worker that loses a peer in the middle of a step may wait for another one that waits as well, on its way out, for as long
# as a collective may take: half an hour unless said otherwise.
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
worker_report.write(sys.argv[1])
rank, ranks = dist.get_rank(), dist.get_world_size()

torch.manual_seed(0)
inputs = torch.randn(SAMPLES, 8, dtype=torch.float64)
targets = torch.sin(inputs.sum(dim=1, keepdim=True))
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).double()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
begin = 0
checkpoint = os.path.join(directory, "checkpoint")
if os.path.exists(checkpoint):
    saved = torch.load(checkpoint)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    begin = saved["step"]
parallel = DistributedDataParallel(model)

step = begin
enough = False
while not enough:
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(parallel(inputs[rank::ranks]), targets[rank::ranks])
    loss.backward()
    optimizer.step()
    # One rank looks, so that all end with the same step.
    told = rank == 0 and os.path.exists(os.path.join(directory, "enough"))
    shared = torch.stack([loss.detach() / ranks, torch.tensor(float(told), dtype=torch.float64)])
    dist.all_reduce(shared)
    mean = shared[0]
    if rank == 0:
        # Before the checkpoint: a rank killed in between makes the step again, and none is missing from the curve.
        with open(os.path.join(directory, "curve"), "a") as curve:
            curve.write(f"{step} {mean.item():.12g} {ranks}\n")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1},
                   checkpoint + ".part")
        os.rename(checkpoint + ".part", checkpoint)
    step += 1
    enough = shared[1].item() > 0 if steps is None else step == steps
    if steps is None:
        time.sleep(0.03)
dist.barrier()
dist.destroy_process_group()
