"""One node of a measured rendezvous, by PyTorch: the counterpart of `hooke bench node`.

usage: rendezvous_node.py ENDPOINT DIRECTORY NODES NUMBER
"""
import os
import sys
import time

import torch.distributed.elastic.rendezvous.registry as registry
from torch.distributed.elastic.rendezvous import RendezvousParameters

endpoint, directory, nodes, number = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
parameters = RendezvousParameters("c10d", endpoint, "bench", nodes, nodes, "localhost", is_host="0")
handler = registry.get_rendezvous_handler(parameters)
own = os.path.join(directory, number)
open(own + ".ready", "w").close()
while not os.path.exists(os.path.join(directory, "go")):
    time.sleep(0.001)
begin = time.monotonic_ns()
handler.next_rendezvous()
span = time.monotonic_ns() - begin
with open(own + ".part", "w") as file:
    file.write(str(span))
os.rename(own + ".part", own + ".in")
while not os.path.exists(os.path.join(directory, "end")):
    time.sleep(0.01)
os._exit(0)
