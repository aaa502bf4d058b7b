"""A timer of one worker under the limit of its group, with the standard library alone: start(), stop(), elapsed().

The agent says the limit and where it listens: hooke agent --timer queue:limit=10m. Run as a script it is a worker: argv has
seconds of work, and seconds that rank 1 takes in the first incarnation.
"""
import json
import os
import socket
import sys
import time


class GroupTimer:
    def __init__(self, scope):
        host, port = os.environ["HOOKE_TIMER_SERVER"].rsplit(":", 1)
        # It stays open: the agent believes no client that has gone before it could be asked for its user.
        self._server = socket.create_connection((host, int(port)))
        self._limit_s = int(os.environ["HOOKE_TIMER_LIMIT_MS"]) / 1000
        self._scope, self._begun, self._took = scope, None, 0.0

    def _tell(self, deadline, signal):
        self._server.sendall(json.dumps({"version": 1, "pid": os.getpid(), "scope_id": self._scope,
                                         "expiration_time": deadline, "signal": signal}).encode() + b"\n")

    def start(self):
        """Work begins, or begins anew; one that takes longer than the limit ends this process."""
        self._tell(time.time() + self._limit_s, 9)
        self._begun = time.monotonic()

    def stop(self):
        """Work is done; returns the seconds that it took."""
        if self._begun is None:
            return 0.0
        self._tell(-1, 0)
        self._took, self._begun = self.elapsed(), None
        return self._took

    def elapsed(self):
        return self._took if self._begun is None else time.monotonic() - self._begun


if __name__ == "__main__":
    is_late = os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    timer = GroupTimer("step")
    timer.start()
    time.sleep(float(sys.argv[2 if is_late else 1]))
    assert timer.elapsed() >= float(sys.argv[1])
    took = timer.stop()
    assert timer.elapsed() == took
    os.write(1, f"rank {os.environ['RANK']} is done\n".encode())
