"""Guards a step of argv[3] seconds by a timer of argv[2] seconds over the FIFO argv[1]."""
import sys
import time

from torch.distributed.elastic import timer

path, after, step = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
timer.configure(timer.FileTimerClient(path))
with timer.expires(after=after):
    time.sleep(step)
print("in time", flush=True)
