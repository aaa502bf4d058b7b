"""A worker that rejoins its group: what a program needs under hooke's restart policy failed-only with rejoin=yes.

usage: rejoin.py DIRECTORY STEPS FAILS. All ranks add numbers up, one step after the other; the worker of global rank FAILS
ends with exit code 5 in the middle of its first life. The others see their collective fail, and all begin a new group in
the same round:

* the groups have a number, in the store at MASTER_ADDR:MASTER_PORT, which an agent serves, so that it outlives workers;
* a worker that has been started again raises it, and the others wait until it is higher than that of their own group;
* each group has keys of its own, for those of the one before hold the addresses of a dead worker;
* the step to go on with is agreed anew: those that went on know it, the newcomer does not.

Writes one line per life, "RANK RESTART_COUNT SUM GROUP", to DIRECTORY/lives.
"""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

directory, steps, fails = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
LIMIT = datetime.timedelta(seconds=60)
PAUSE_S = 0.05
torch.set_num_threads(1)

store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), None, False, LIMIT)
if restarts > 0:
    store.add("group", 1)
group = store.add("group", 0)


def meet(number):
    """Begins the group of this number; the step to go on with is the highest that any rank has reached."""
    own_keys = dist.PrefixStore(f"group {number}", store)
    dist.init_process_group("gloo", store=own_keys, rank=rank, world_size=ranks, timeout=LIMIT)
    reached = torch.tensor([step, total], dtype=torch.int64)
    dist.all_reduce(reached, op=dist.ReduceOp.MAX)
    return int(reached[0]), int(reached[1])


step, total = 0, 0
step, total = meet(group)
while step < steps:
    if rank == fails and restarts == 0 and step == steps // 2:
        os._exit(5)
    share = torch.tensor([rank + step], dtype=torch.int64)
    try:
        dist.all_reduce(share)
    except RuntimeError:  # a peer is gone
        dist.destroy_process_group()
        while store.add("group", 0) == group:
            time.sleep(PAUSE_S)
        group = store.add("group", 0)
        step, total = meet(group)
        continue
    step, total = step + 1, total + int(share)
dist.barrier()
dist.destroy_process_group()
with open(os.path.join(directory, "lives"), "a") as lives:
    lives.write(f"{rank} {restarts} {total} {group}\n")
