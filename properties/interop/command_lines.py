"""Plays each command line of a page under torchrun and under hooke agent, and writes down what each of them did.

command_lines.py PAGE HOOKE DIRECTORY OUT RELEASE LANES [NAME...]: the rows of RELEASE, or those of these names, in
DIRECTORY; OUT is JSON, a list of rows. This interpreter's PyTorch is imported once: each torchrun is a fork of this process,
so that seventy of them take as long as twenty fresh ones.
"""
import contextlib
import glob
import json
import os
import re
import shlex
import signal
import socket
import sys
import time

import torch.distributed.run

if torch.__version__.startswith("1."):
    import torchrun_1_13  # noqa: F401  (repairs it)

HERE = os.path.dirname(os.path.abspath(__file__))
WORKER = os.path.join(HERE, "command_lines_worker.py")
LIMIT_S = 60
# Names of jobs on the page, whose log directories are these with some drawn letters behind.
RUN_IDS = ("UUID", "none", "it", "my-job", "0042", "b")
# What PyTorch has for itself, and no launcher for its workers.
PYTORCHS = r"torchinductor_\w+/?|pytorch-errorfile-\w+\.pickle"
# Of the launcher's own environment: workers have it whether or not a launcher does anything.
BASE = {"PATH", "HOME", "LD_LIBRARY_PATH", "LANG", "PYTHONPATH", "TMPDIR", "SEEN", "PYTHONDONTWRITEBYTECODE", "LC_CTYPE"}


def rows_of(page, release, names):
    """The rows of its tables under the heading of a release: name, environment, command line, signals, torchrun, hooke."""
    rows, of_release = [], None
    with open(page) as lines:
        for line in lines:
            if line.startswith("## "):
                of_release = "1.13" if "1.13" in line else "2.13"
            cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
            if of_release != release or not line.startswith("| ") or len(cells) != 6 or "`" not in cells[2]:
                continue
            name, environment, command, signals, torchrun, hooke = cells
            if not names or name in names:
                rows.append({"name": name, "environment": shlex.split(environment.replace("`", "")),
                             "command": command.strip("`"), "signals": signals.replace("`", ""), "torchrun": torchrun,
                             "hooke": hooke})
    return rows


def free_port():
    """Kept from other sockets that ask for any, as job.cpp's: it stays bound, and not listened on, until this process ends."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("", 0))
    return reserved


def start(launcher, arguments, environment, directory, log):
    """`launcher` is a command, or empty for this process' own torchrun, whose exceptions end the fork as they end it."""
    pid = os.fork()
    if pid != 0:
        return pid
    os.setsid()
    os.chdir(directory)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for of, to in ((nothing, 0), (out, 1), (out, 2)):
        os.dup2(of, to)
    if launcher:
        os.execve(launcher[0], [*launcher, *arguments], environment)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["torchrun", *arguments]
    torch.distributed.run.main()
    sys.exit(0)


def ended(pids, ends):
    for pid in pids:
        if pid not in ends:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                ends[pid] = os.waitstatus_to_exitcode(status)
    return len(ends) == len(pids)


def until(condition):
    limit = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


def end_what_is_left(pids, ends, seen):
    """An agent that has not ended in time, and the workers that it has not ended."""
    workers = [int(os.path.basename(path).split(".")[2]) for path in glob.glob(seen + "/*.json")]
    for pid in [pid for pid in pids if pid not in ends] + workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        if pid not in ends:
            os.waitpid(pid, 0)
            ends[pid] = "none"


def play(row, launcher, directory):
    """What this launcher makes of this row."""
    seen, tmp = directory + "/.seen", directory + "/tmp"
    for made in (seen, tmp):
        os.makedirs(made)
    reserved = free_port()
    port = str(reserved.getsockname()[1])

    def filled(text):
        return (text.replace("{worker}", WORKER).replace("{port}", port).replace("{dir}", directory))

    environment = {name: os.environ[name] for name in BASE if name in os.environ}
    environment.update({"PYTHON_EXEC": sys.executable, "PYTHONPATH": HERE, "SEEN": seen, "TMPDIR": tmp,
                        "TORCHELASTIC_ERROR_FILE": directory + "/error.json", "PYTHONDONTWRITEBYTECODE": "1"})
    for pair in row["environment"]:
        name, equals, value = pair.partition("=")
        if equals:
            environment[name] = filled(value)
        else:
            environment.pop(name, None)
    with open(directory + "/a-file", "w") as file:
        file.write("no directory\n")
    commands = [shlex.split(filled(command)) for command in row["command"].split(" & ")]
    logs = [f"{directory}/.agent{number}.log" for number in range(len(commands))]
    pids = [start(launcher, arguments, environment, directory, log)
            for arguments, log in zip(commands, logs)]
    ends = {}
    if row["signals"]:
        names, _, workers = row["signals"].partition(" at ")
        until(lambda: ended(pids, ends) or len(glob.glob(seen + "/*.json")) >= int(workers))
        for name in names.split(", "):
            if pids[0] not in ends:
                os.kill(pids[0], getattr(signal, name))
                time.sleep(0.3)
    until(lambda: ended(pids, ends))
    end_what_is_left(pids, ends, seen)
    reserved.close()
    return gathered(directory, port, {pid: ends[pid] for pid in pids}, environment, logs)


def gathered(directory, port, ends, environment, logs):
    workers = []
    for path in glob.glob(directory + "/.seen/*.json"):
        with open(path) as file:
            workers.append(json.load(file))

    def without_the_drawn(text):
        text = text.replace(directory, "DIR").replace(WORKER, "WORKER").replace(sys.executable, "PYTHON")
        text = re.sub(r"\bProcess (%s)\b" % "|".join(map(str, ends)), "Process AGENT", text)
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID", text)
        text = re.sub(r"torchelastic_\w+", "torchelastic_DRAWN", text)
        for run_id in RUN_IDS:
            text = re.sub(f"(?<=/){run_id}" + r"_\w+(?=/|$)", run_id + "_DRAWN", text)
        return re.sub(r"\b%s\b" % port, "PORT", text)

    def told(worker):
        out = {name: without_the_drawn(value) for name, value in worker["environment"].items()
               if environment.get(name) != value or name == "TORCHELASTIC_ERROR_FILE"}
        out.pop("TORCHINDUCTOR_CACHE_DIR", None)
        if out.get("MASTER_PORT") not in (None, "PORT", "0"):
            out["MASTER_PORT"] = "DRAWN"
        gone = sorted(name for name in environment if name not in worker["environment"])
        return {"argv": [without_the_drawn(text) for text in worker["argv"]], "environment": out, "without": gone,
                "python": without_the_drawn(worker["python"])}

    files = {}
    for path, folders, names in os.walk(directory):
        folders[:] = [folder for folder in folders if folder != ".seen"]
        for name in [name + "/" for name in folders] + names:
            whole = os.path.join(path, name)
            if not re.fullmatch(PYTORCHS + r"|\.agent\d+\.log|a-file", name):
                files[without_the_drawn(whole)] = without_the_drawn(content(whole, directory))
    # An agent that refuses its settings may have made it before, or not.
    files.pop("DIR/tmp/torchelastic_DRAWN/", None)
    output = "".join(content(log, directory) for log in logs)
    workers = sorted((told(worker) for worker in workers), key=lambda told: json.dumps(told, sort_keys=True))
    return {"ends": list(ends.values()), "workers": workers, "files": files,
            "shown": sorted(re.findall(r"(?m)^.*(?:word|warning) of rank.*$", output)), "output": output[-6000:]}


def content(path, directory):
    """A file's text; of an error file what does not depend on the time, the process and the launcher's own language."""
    if path.endswith("/"):
        return ""
    with open(path, errors="replace") as file:
        text = file.read()
    if os.path.basename(path) == "store":
        return "a FileStore"
    if os.path.basename(path).startswith("filtered_"):
        return "".join(sorted(text.splitlines(keepends=True)))
    if os.path.basename(path) != "error.json":
        return text
    message = json.loads(text)["message"]
    message = message if isinstance(message, str) else message.get("message", "")
    is_own = os.path.dirname(path) == directory and "of the worker" not in message and "got signal" not in message
    return message.split(":")[0] if is_own else message


def claimed(directory):
    try:
        os.makedirs(directory)
        return True
    except FileExistsError:
        return False


def play_all(rows, launchers, directory):
    for row in rows:
        own = f"{directory}/{re.sub('[^a-z0-9]+', '-', row['name'].lower())}"
        if not claimed(own):
            continue
        for name, launcher in launchers.items():
            os.makedirs(f"{own}/{name}")
            row[name + "_did"] = play(row, launcher, f"{own}/{name}")
        with open(own + "/.played.json", "w") as out:
            json.dump(row, out)


def main():
    page, hooke, directory, out, release, lanes, *names = sys.argv[1:]
    variant = "torch-1.13" if release == "1.13" else "torch-2.x"
    launchers = {"torchrun": [], "hooke": [hooke, "agent", "--protocol-variant=" + variant]}
    rows = rows_of(page, release, names)
    others = []
    for _ in range(int(lanes) - 1):
        others.append(os.fork())
        if others[-1] == 0:
            play_all(rows, launchers, directory)
            return
    play_all(rows, launchers, directory)
    for pid in others:
        os.waitpid(pid, 0)
    played = []
    for path in sorted(glob.glob(directory + "/*/.played.json")):
        with open(path) as file:
            played.append(json.load(file))
    with open(out, "w") as file:
        json.dump(played, file, indent=1)


if __name__ == "__main__":
    main()
