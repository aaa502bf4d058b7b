"""Imports the program with everything replaced, then forks a guest for each message."""
import array
import ctypes
import faulthandler
import gc
import marshal
import os
import signal
import socket
import sys
import threading
import traceback

import hooke_channel as hooke
import hooke_clocks
import hooke_guards
import hooke_host
import hooke_processes
import hooke_threads

DESCRIPTORS_MAX = 64
LEAST_OUTPUT = 100       # the descriptor under which every guest has its output
HUGE_PAGE = 2 << 20
MADV_COLLAPSE = 25       # Linux 6.1
FORKS_MIN = 8            # join_pages() takes as long as it spares some twenty guests: not for a world or two


def receive(control):
    """Like socket.recv_fds, which waits for 3.9's successors to take its flags: (message, descriptors)."""
    numbers = array.array('i')
    data, extra, _, _ = control.recvmsg(hooke.MAX_MESSAGE, socket.CMSG_LEN(DESCRIPTORS_MAX * numbers.itemsize))
    for level, kind, content in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(content[:len(content) - len(content) % numbers.itemsize])
    return (marshal.loads(data) if data else None), list(numbers)


def serve(control, program):
    """Never returns, but for an error at the start."""
    hooke_processes.REAL['signal'](signal.SIGINT, signal.SIG_IGN)
    greeting = program.prepare()
    left = hooke_guards.left_over()
    if left:
        raise RuntimeError('these names still reach outside of the simulated world: ' + ', '.join(left))
    sys.addaudithook(hooke_guards.audit)
    output = os.dup2(2, LEAST_OUTPUT, inheritable=True)
    faulthandler.register(signal.SIGUSR2, file=output, all_threads=True)
    faulthandler.enable(file=output)
    tasks = len(os.listdir('/proc/self/task'))
    if tasks != 1:
        raise RuntimeError('the imports have started threads, which no fork keeps: %d of them' % (tasks - 1))
    gc.collect()
    gc.freeze()                           # shared pages stay shared
    control.send(marshal.dumps((True, greeting), 2))
    living, killed, forks, joined = set(), set(), 0, False
    while True:
        message, descriptors = receive(control)
        if message is None:
            end(living)
        reap(living)
        if message[0] == 'kill':
            if message[1] in living:
                hooke_processes.REAL['kill'](message[1], message[2])
                if message[2] == signal.SIGKILL:
                    killed.add(message[1])
            continue
        forks += 1
        if not joined and forks > FORKS_MIN and living <= killed:
            while living:                 # a guest would keep the old pages, then for itself alone
                living.discard(os.waitpid(-1, 0)[0])
            join_pages()
            joined = True
        pid = os.fork()
        if pid == 0:
            control.close()
            begin(message[1], descriptors, program)
        living.add(pid)
        killed.discard(pid)               # an earlier guest's number
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(marshal.dumps((True, pid), 2))


def join_pages():
    """For speed alone: the interpreter's memory in huge pages. A fork copies an entry of the page table for each page,
    and a guest's end takes each away: 50,000 of PyTorch's, 100 when they are huge. One in which a guest writes is split
    first, so that it copies 4 KiB as before. A kernel that cannot do so says no, and nothing is lost."""
    madvise = getattr(ctypes.CDLL(None), 'madvise', None)
    if madvise is None:
        return
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    with open('/proc/self/maps') as maps:
        lines = maps.read().splitlines()
    for line in lines:
        span, access, _, _, _, *name = line.split()
        if access.startswith('rw-p') and name in ([], ['[heap]']):
            low, high = (int(each, 16) for each in span.split('-'))
            low, high = -(-low // HUGE_PAGE) * HUGE_PAGE, high // HUGE_PAGE * HUGE_PAGE
            if low < high:
                madvise(low, high - low, MADV_COLLAPSE)


def reap(living):
    """Only here do numbers of guests become free, so that no other process is ever killed in their place."""
    while living:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        living.discard(pid)


def end(living):
    for pid in living:
        hooke_processes.REAL['kill'](pid, signal.SIGKILL)
    os._exit(0)


def begin(word, descriptors, program):
    """In the forked process: becomes the guest. Never returns."""
    config, directory, hooke.NODE, hooke.FULL_NAME, hooke.PID, environment = word
    hooke.begin(descriptors[:-1])
    for target in (LEAST_OUTPUT, 1, 2):
        os.dup2(descriptors[-1], target)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update({'PATH': '/usr/bin:/bin', 'HOME': '/', 'TMPDIR': hooke.HOME})
    os.environ.update(environment)
    hooke_threads.begin()
    hooke.receive(0)
    hooke.ON = True
    hooke_processes.begin()
    hooke_host.begin()
    code = run(program, config)
    for stream in (sys.stdout, sys.stderr):
        stream.finish()
    hooke.ask('exit', code)
    os._exit(99)


def run(program, config):
    """The exit code, as the interpreter would end with."""
    try:
        try:
            program.main(config)
        finally:
            threading._shutdown()
    except SystemExit as error:
        if error.code is not None and not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
        return exit_code(error)
    except BaseException as error:
        traceback.print_exc()
        return exit_code(error)
    return 0


def exit_code(error):
    """Of an interpreter whose main module has raised that; None: nothing."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    return 0 if error is None else 130 if isinstance(error, KeyboardInterrupt) else 1
