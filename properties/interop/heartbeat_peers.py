"""Beats as hooke's agent asks, and sees which other workers of the group live, with the standard library alone.

usage: heartbeat_peers.py DIRECTORY SILENT. Beats until DIRECTORY/enough is there. The worker of rank SILENT falls silent when
DIRECTORY/hush is there. Each writes what it sees, whenever it has changed, to DIRECTORY/seen.RANK, one line of JSON each time.
A worker of another agent than hooke's has nothing to beat to, and just waits.
"""
import json
import os
import select
import socket
import sys
import time

PAUSE_S = 0.1


class Peers:
    """A connection to the agent's heartbeat server. `lives` is its latest answer, None before the first: lists of global
    ranks by "alive", "silent", "ended" and "unknown"."""

    def __init__(self):
        host, port = os.environ["HOOKE_HEARTBEAT_ADDRESS"].rsplit(":", 1)
        self.interval_s = int(os.environ["HOOKE_HEARTBEAT_INTERVAL_MS"]) / 1000
        self.worker = os.environ["HOOKE_HEARTBEAT_WORKER"]
        self.server = socket.create_connection((host, int(port)))
        self.count, self.unread, self.lives = 0, b"", None

    def beat(self, **more):
        self.count += 1
        self.server.sendall(json.dumps({"worker": self.worker, "beat": self.count, **more}).encode() + b"\n")

    def ask(self):
        self.beat(peers=True)

    def hear(self, limit_s):
        """Takes in what comes within that time; whether the view has changed."""
        before = self.lives
        if select.select([self.server], [], [], limit_s)[0]:
            *lines, self.unread = (self.unread + self.server.recv(65536)).split(b"\n")
            for line in lines:
                self.lives = json.loads(line)
        return self.lives != before


def main():
    directory, silent = sys.argv[1], sys.argv[2]
    rank = os.environ["RANK"]
    there = lambda name: os.path.exists(os.path.join(directory, name))
    peers = Peers() if "HOOKE_HEARTBEAT_PEERS" in os.environ else None
    while not there("enough"):
        if peers is None or (rank == silent and there("hush")):
            time.sleep(PAUSE_S)
            continue
        peers.ask()
        if peers.hear(peers.interval_s):
            with open(os.path.join(directory, f"seen.{rank}"), "a") as seen:
                seen.write(json.dumps(peers.lives) + "\n")
        time.sleep(peers.interval_s)
    if peers is not None:
        peers.beat(last=True)


if __name__ == "__main__":
    main()
