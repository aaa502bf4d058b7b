"""Serves a PyTorch TCPStore until a signal ends it. Prints the port."""
import signal

import torch.distributed as dist

store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
print(store.port, flush=True)
signal.pause()
