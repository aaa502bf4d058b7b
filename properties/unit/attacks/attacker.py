"""What the attacks of this folder share. An attack is a function of a script here, without a parameter that it needs; it
raises when it succeeds. Names as a script's arguments: only these. NAME=COUNT: that often, where an attack has a count.
"""
import inspect
import os
import pathlib
import socket
import struct
import subprocess
import sys
import time

HOOKE = os.environ["HOOKE_BINARY_DIR"] + "/hooke"
LIBRARY = pathlib.Path(os.environ["HOOKE_SOURCE_DIR"]) / "scenarios/library"
OPENING = b"\0" + struct.pack("<I", 0x3C85F7CE)
SET, GET, CHECK, WAIT, APPEND, MULTI_GET, MULTI_SET, QUEUE_POP = (bytes([query]) for query in (1, 3, 5, 6, 9, 10, 11, 16))
MIB = 1 << 20


class NotHere(Exception):
    """This machine lacks what the attack needs."""


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def text(value):
    return struct.pack("<Q", len(value)) + value


class Server:
    """A hooke command that says on which port it serves; instead of a store, the command in HOOKE_ATTACKED_STORE."""

    def __init__(self, *arguments, program=(HOOKE,), **how):
        other = os.environ.get("HOOKE_ATTACKED_STORE", "").split()
        command = other if other and arguments[0] == "store" else [*program, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **how)
        self.port = int(self.process.stdout.readline().split("port ")[1].split()[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def connect(self, opening=OPENING):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.sendall(opening)
        return client

    def memory_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def received(client, count):
    out = b""
    while len(out) < count:
        more = client.recv(count - len(out))
        if not more:
            raise AssertionError("the connection was closed")
        out += more
    return out


def seconds_of(client, rounds=300):
    """The median time of an honest check."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        client.sendall(CHECK + struct.pack("<Q", 1) + text(b"/k"))
        received(client, 1)
        times.append(time.perf_counter() - begin)
    return sorted(times)[rounds // 2]


def processor_seconds(pid):
    """What a process has used so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid):
    return int(pathlib.Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def finished(command, timeout=60, **how):
    """Runs a command to its end; what it said is in `out` and `err`."""
    child = subprocess.Popen([HOOKE, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    try:
        child.out, child.err = child.communicate(timeout=timeout)
    finally:
        child.kill()
    return child


def _holds(attack, arguments):
    begin = time.time()
    try:
        attack(*arguments)
        print(f"held     {attack.__name__} ({time.time() - begin:.1f} s)", flush=True)
    except NotHere as lack:
        print(f"left out {attack.__name__}: {lack}", flush=True)
    except (AssertionError, OSError, subprocess.TimeoutExpired, IndexError) as error:
        print(f"succeeds {attack.__name__}: {type(error).__name__}: {error}", flush=True)
        return False
    return True


def play(attacks):
    """Plays those that the command line asks for. A script is called with its own globals. What an attack costs is measured beside
    whatever else the machine does: only an attack that succeeds three times in a row has succeeded."""
    chosen = dict((name.split("=") + [""])[:2] for name in sys.argv[1:])
    failed = 0
    for name, attack in list(attacks.items()):
        if not inspect.isfunction(attack) or attack.__module__ != "__main__" or name.startswith("_"):
            continue
        if chosen and name not in chosen:
            continue
        arguments = [int(chosen[name])] if chosen.get(name) else []
        failed += not any(_holds(attack, arguments) for _ in range(3))
    sys.exit(1 if failed else 0)
