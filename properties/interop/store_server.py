"""Serves a PyTorch TCPStore until a signal ends it. Prints the port.

usage: store_server.py [poll]   (poll: the server without libuv, where PyTorch has both)
"""
import signal
import sys

import torch.distributed as dist

backend = {"use_libuv": False} if sys.argv[1:] == ["poll"] else {}
store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False, **backend)
print(store.port, flush=True)
signal.pause()
