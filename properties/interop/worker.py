"""A worker of the interop suite: meets its peers with real PyTorch and works until told to stop.

Reports what it was given, then all-reduces over gloo until the file $HOOKE_STOP is there; every rank sees the stop
in the same step, because the reduction carries it.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
import worker_report

dist.init_process_group("gloo")
worker_report.write(sys.argv[1])
stop = torch.zeros(1)
while stop.item() == 0:
    stop = torch.tensor([1.0 if os.path.exists(os.environ["HOOKE_STOP"]) else 0.0])
    dist.all_reduce(stop)
    time.sleep(0.05)
dist.destroy_process_group()
