"""Arms a timer of 3 s over the FIFO argv[1], and moves it by as many seconds as argv[2] says before it works for 7 s."""
import sys
import time

from torch.distributed.elastic import timer

client = timer.FileTimerClient(sys.argv[1])
client.acquire("step", time.time() + 3)
client.acquire("step", time.time() + float(sys.argv[2]))
time.sleep(7)
print("in time", flush=True)
