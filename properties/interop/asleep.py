# A worker asleep in the kernel: a process that has called vfork is, until its child ends or becomes another program.
import ctypes
import time

print("begins", flush=True)
ctypes.PyDLL(None).vfork()
time.sleep(1000)
