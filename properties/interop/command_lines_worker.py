"""A worker of command_lines.py: writes down what it was given, says a word on both streams, and ends as it is told.

Its arguments are of the form WHAT or RANK:WHAT, the second of which is for the worker of that rank alone:
exit=N, kill=N, raise, once (the first attempt fails), wait, deaf (waits, and only SIGKILL ends it), reply (waits, and ends
with 7 when it is told to), pause=N (works for N seconds). Anything else is just an argument.
"""
import json
import os
import signal
import sys
import time

FOR_EVER_S = 1000


def write_down(environment, directory):
    name = f"{environment.get('RANK')}.{environment.get('TORCHELASTIC_RESTART_COUNT')}.{os.getpid()}"
    with open(os.path.join(directory, name), "w") as file:
        json.dump({"argv": sys.argv[1:], "environment": environment, "python": sys.executable}, file)
    os.rename(os.path.join(directory, name), os.path.join(directory, name + ".json"))


def act(what, attempt):
    word, _, number = what.partition("=")
    if word == "exit":
        sys.exit(int(number))
    if word == "kill":
        os.kill(os.getpid(), int(number))
    if word == "raise":
        raise ValueError("of the worker")
    if word == "once" and attempt == "0":
        sys.exit(5)
    if word == "pause":
        time.sleep(int(number))
    if word in ("wait", "deaf", "reply"):
        time.sleep(FOR_EVER_S)


def main():
    rank, attempt = os.environ.get("RANK"), os.environ.get("TORCHELASTIC_RESTART_COUNT")
    # In one piece each: workers of one node may share the stream.
    os.write(1, f"word of rank {rank}\n".encode())
    os.write(2, f"warning of rank {rank}\n".encode())
    mine = [told.split(":", 1)[-1] for told in sys.argv[1:] if ":" not in told or told.startswith(f"{rank}:")]
    if "deaf" in mine:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "reply" in mine:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    write_down(dict(os.environ), os.environ["SEEN"])
    for what in mine:
        act(what, attempt)


if __name__ == "__main__":
    main()
