# A worker asleep in the kernel: whoever has called vfork is, until its child ends or becomes another program.
import ctypes
import time

print("begins", flush=True)
ctypes.PyDLL(None).vfork()
time.sleep(1000)
