# A worker that cannot be reaped: a process in another session traces it, so that once it has been killed the kernel
# keeps its end from its parent until the tracer goes. Argument: for how many seconds.
import ctypes
import os
import signal
import sys
import time

PTRACE_SEIZE, PR_SET_PTRACER = 0x4206, 0x59616D61
libc = ctypes.CDLL(None, use_errno=True)
worker = os.getpid()
ready, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(0.5)  # until the worker has named this process as its tracer
    taken = libc.ptrace(PTRACE_SEIZE, worker, None, None) == 0
    os.write(tell, b"begins" if taken else b"cannot be traced: " + os.strerror(ctypes.get_errno()).encode())
    time.sleep(float(sys.argv[-1]))
    os._exit(0)
libc.prctl(PR_SET_PTRACER, -1, 0, 0, 0)
print(os.read(ready, 100).decode(), flush=True)
time.sleep(1000)
