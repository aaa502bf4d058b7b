"""Beats as hooke's agent asks in the environment, with the standard library alone.

argv: a directory; seconds to beat; seconds to go on in silence; incarnations that do so (later
ones beat all the time and say so when they end). Writes one line per incarnation to "starts".
"""
import os
import socket
import sys
import time

directory, beating, silent, bad = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
host, port = os.environ["HOOKE_HEARTBEAT_ADDRESS"].rsplit(":", 1)
interval = int(os.environ["HOOKE_HEARTBEAT_INTERVAL_MS"]) / 1000
restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
with open(os.path.join(directory, "starts"), "a") as starts:
    starts.write(f"{os.environ['RANK']} {restarts}\n")

server = socket.create_connection((host, int(port)))
count = 0


def beat(more=""):
    global count
    count += 1
    line = f'{{"worker": "{os.environ["HOOKE_HEARTBEAT_WORKER"]}", "beat": {count}{more}}}\n'
    server.sendall(line.encode())


end = time.monotonic() + beating
while time.monotonic() < end:
    beat()
    time.sleep(interval)
if restarts < bad:
    time.sleep(silent)
beat(', "last": true')
