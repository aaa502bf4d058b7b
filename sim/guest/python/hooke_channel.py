"""The talk with hooke.

One OS thread per Python thread, each with a socket of its own. A thread runs from the answer to its last request
until its next one; all others sit in os.read. So exactly one thread of the whole world runs, whatever the GIL does.
One-way notes travel with the next request.
"""
import marshal
import mmap
import os
import sys
import traceback
import _thread

MAX_MESSAGE = 1 << 20
DONE, TIMED_OUT, SIGNALLED, DIES = 0, 1, 2, 3   # GuestProcess::Reason

ON = False               # False in the zygote: everything is real there
CHANNELS = []            # the socket of each thread slot
BUFFERS = []             # and where its answers come to: a new one for each would be mapped, and unmapped, by the kernel
MONOTONIC = WALL = 0     # nanoseconds, as of the latest answer
NOTES = []               # for the next request
PENDING = []             # signals that have come and are not handled
ENDED = set()            # children that have ended and are not reaped
HANDLERS = {}            # by signal number
NODE = FULL_NAME = ''
HOME = '/proc/self/cwd'   # a guest's real directory: its name differs from run to run, this one does not
PID = 0

_readv, _write = os.readv, os.write
_dumps, _loads = marshal.dumps, marshal.loads
_local = _thread._local()


def slot():
    return getattr(_local, 'slot', 0)


def begin(channels):
    """In a new guest. Of the buffers only the pages that are written take memory."""
    CHANNELS[:] = channels
    room = mmap.mmap(-1, len(channels) * MAX_MESSAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.madvise(mmap.MADV_NOHUGEPAGE)
    room = memoryview(room)
    BUFFERS[:] = [room[at:at + MAX_MESSAGE] for at in range(0, len(room), MAX_MESSAGE)]


def receive(mine):
    """Takes an answer in: (value, reason)."""
    global MONOTONIC, WALL
    buffer = BUFFERS[mine]
    count = _readv(CHANNELS[mine], (buffer,))
    if not count:
        os._exit(99)                  # hooke has closed the world
    MONOTONIC, WALL, signals, ended, reason, value = _loads(buffer[:count])   # audited, which copies it
    if ended:
        ENDED.update(ended)
    if signals:
        PENDING.extend(signals)
    if reason == DIES:
        raise SystemExit              # ends a thread without a word, and passes by what handles errors
    return value, reason


def ask(*request):
    """One blocking request: (value, reason)."""
    mine = slot()
    message = _dumps((request, NOTES), 2)
    NOTES.clear()                     # before the write: after it another thread may run
    _write(CHANNELS[mine], message)
    return receive(mine)


def call(*request):
    """A request that no signal interrupts, as one in C++ would not be; handlers run when it is over."""
    value, _ = ask(*request)
    if PENDING:
        run_handlers()
    return value


def run_handlers():
    """Python runs them in the main thread, between bytecodes; here: after a request."""
    import signal
    while PENDING and slot() == 0:
        number = PENDING.pop(0)
        handler = HANDLERS.get(number, signal.SIG_DFL)
        if callable(handler):
            handler(number, sys._getframe())
        elif handler == signal.SIG_DFL:
            fail('has set signal %d to its default action, which hooke cannot give back' % number)


def park(deadline, woken=None):
    """Until another thread wakes this one (True) or `deadline` (ns; None: never) passes (False). `woken()` says
    whether a wake has come, because one that meets a handler is lost. A handler may raise out of it."""
    while True:
        if woken is not None and woken():
            return True
        _, reason = ask('park', -1 if deadline is None else deadline)
        if PENDING:
            run_handlers()
        if reason == DONE and woken is None:
            return True
        if reason == TIMED_OUT:
            return woken is not None and woken()


def fail(what):
    """A failure of the harness, loud: hooke ends the run with it, and nothing here goes on."""
    ask('fail', what + '\n' + ''.join(traceback.format_stack()[:-1]))
    os._exit(99)


class Stream:
    """sys.stdout and sys.stderr: whole lines become notes."""
    encoding, errors, newlines, closed, mode, name = 'utf-8', 'backslashreplace', None, False, 'w', '<hooke>'

    def __init__(self, real):
        self.real, self.rest, self.buffer = real, '', None

    def write(self, text):
        if not ON:
            return self.real.write(text)
        lines = (self.rest + text).split('\n')
        self.rest = lines.pop()
        NOTES.extend(('line', line.encode('utf-8', 'backslashreplace').decode()) for line in lines)
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        if not ON:
            self.real.flush()

    def finish(self):
        if self.rest:
            self.write('\n')

    def isatty(self):
        return False

    def writable(self):
        return True

    def fileno(self):
        return self.real.fileno()


sys.stdout, sys.stderr = Stream(sys.stdout), Stream(sys.stderr)
