"""What PyTorch's barrier says of ranks that stay away, one line for each rank that came.

    barrier_tracing.py WORLD_SIZE RANK...
"""

import os
import sys
import threading

os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"  # each wait that ends without its key is a warning

import torch.distributed as dist
from torch.distributed.elastic.utils import store as util

world_size, *ranks = map(int, sys.argv[1:])
server = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
said = {}


def come(rank):
    store = dist.TCPStore("localhost", server.port, wait_for_workers=False)
    try:
        util.barrier(store, world_size, "key", barrier_timeout=2, rank=rank, trace_timeout=0.5,
                     rank_tracing_decoder=lambda number: f"host-{number}")
        said[rank] = "passed"
    except dist.DistStoreError as error:
        text = str(error)
        said[rank] = text if text.startswith("Timed out waiting on barrier on") else "timed out"


threads = [threading.Thread(target=come, args=(rank,)) for rank in ranks]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for rank in ranks:
    print(f"{rank}: {said[rank]}")
