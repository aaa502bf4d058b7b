# A worker that prints, and then by its rank hangs, raises, or ends in its own way when told to stop.
import os
import signal
import sys
import time

from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
    begun = os.path.join(sys.argv[1], attempt)
    if rank == "2":
        def stop(*_):
            print("rank 2 was told to stop", flush=True)
            sys.exit(7)
        signal.signal(signal.SIGTERM, stop)
    print(f"rank {rank} begins, attempt {attempt}", flush=True)
    print(f"rank {rank} warns", file=sys.stderr, flush=True)
    os.makedirs(begun, exist_ok=True)
    open(os.path.join(begun, rank), "w").close()
    if rank == "1":
        while len(os.listdir(begun)) < 3:
            time.sleep(0.01)
        raise ValueError("the loss is not a number")
    time.sleep(1000)


main()
