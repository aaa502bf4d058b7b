"""Serves file timers over the FIFO argv[1] until a signal ends it."""
import inspect
import signal
import sys

from torch.distributed.elastic.timer import FileTimerServer

arguments = {"file_path": sys.argv[1], "max_interval": 0.1}
if "run_id" in inspect.signature(FileTimerServer.__init__).parameters:
    arguments["run_id"] = "run"
server = FileTimerServer(**arguments)
server.start()
print("serving", flush=True)
signal.pause()
