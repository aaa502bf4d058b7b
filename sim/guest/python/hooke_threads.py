"""Threads and locks: four primitives; Condition, Event, Thread.join and the rest are CPython's own."""
import collections
import sys
import threading
import _thread

import hooke_channel as hooke

if not (3, 9) <= sys.version_info[:2] <= (3, 12):
    raise RuntimeError('expected a Python from 3.9 to 3.12 for the guests, got %d.%d' % sys.version_info[:2])

REAL = {'start_new_thread': _thread.start_new_thread, 'allocate_lock': _thread.allocate_lock,
        'RLock': _thread.RLock, 'set_sentinel': _thread._set_sentinel, 'get_native_id': threading.get_native_id}
FREE = []                # slots without a thread, the next one last


class Lock:
    __slots__ = ('held', 'waiters', '__weakref__')

    def __init__(self):
        self.held = False
        self.waiters = collections.deque()

    def acquire(self, blocking=True, timeout=-1):
        if not blocking and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        if not self.held:
            self.held = True
            return True
        if not blocking or timeout == 0:
            return False
        if not hooke.ON:
            raise RuntimeError('a lock is waited for outside of the world')
        mine = [hooke.slot(), False]      # True: a process that released has handed the lock over
        self.waiters.append(mine)
        deadline = None if timeout < 0 else hooke.MONOTONIC + round(timeout * 1e9)
        try:
            granted = hooke.park(deadline, lambda: mine[1])
        except BaseException:
            if mine[1]:
                self.release()
            else:
                self.waiters.remove(mine)
            raise
        if not granted:
            self.waiters.remove(mine)
        return granted

    __enter__ = acquire

    def release(self):
        if not self.held:
            raise RuntimeError('release unlocked lock')
        if self.waiters:
            waiter = self.waiters.popleft()
            waiter[1] = True
            hooke.NOTES.append(('wake', waiter[0]))
        else:
            self.held = False

    def __exit__(self, *exception):
        self.release()

    def locked(self):
        return self.held

    def _at_fork_reinit(self):
        self.held = False
        self.waiters.clear()

    acquire_lock, release_lock, locked_lock = acquire, release, locked


def start_new_thread(function, arguments, keywords={}):
    if not hooke.ON:
        return REAL['start_new_thread'](function, arguments, keywords)
    if not FREE:
        hooke.fail('starts more threads than hooke has slots for, which are %d' % len(hooke.CHANNELS))
    mine = FREE.pop()
    thread = getattr(function, '__self__', None)
    name = str(getattr(thread, '_name', None) or getattr(function, '__name__', 'thread'))
    target = getattr(getattr(thread, '_target', None), '__name__', '')
    if name.startswith('Thread-') and '(' not in name and target:
        name += ' (%s)' % target          # as since 3.10
    ready = REAL['allocate_lock']()
    ready.acquire()

    def boot():
        hooke._local.slot = mine
        ready.release()
        hooke.receive(mine)
        try:
            function(*arguments, **keywords)
        except SystemExit:
            pass
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sentinel = getattr(hooke._local, 'sentinel', None)
            if sentinel is not None and sentinel.held:
                sentinel.release()
            message = hooke._dumps((('end',), hooke.NOTES), 2)
            hooke.NOTES.clear()
            FREE.append(mine)
            hooke._write(hooke.CHANNELS[mine], message)
    identity = REAL['start_new_thread'](boot, ())
    ready.acquire()                       # it sits at its read now
    hooke.NOTES.append(('thread', mine, name))
    return identity


def set_sentinel():
    if not hooke.ON:
        return REAL['set_sentinel']()
    hooke._local.sentinel = Lock()
    return hooke._local.sentinel


threading._set_sentinel = set_sentinel
threading._start_new_thread = _thread.start_new_thread = _thread.start_new = start_new_thread
threading._allocate_lock = threading.Lock = _thread.allocate_lock = _thread.allocate = Lock
threading._CRLock = None                  # RLock is then Python's own, on a Lock
_thread.RLock = threading._PyRLock
threading.get_native_id = _thread.get_native_id = (
    lambda: hooke.PID * 1000 + hooke.slot() if hooke.ON else REAL['get_native_id']())


def begin():
    FREE[:] = range(len(hooke.CHANNELS) - 1, 0, -1)
    hooke._local.slot = 0


import queue                              # after threading has its locks

REAL['SimpleQueue'] = queue.SimpleQueue
queue.SimpleQueue = queue._PySimpleQueue  # of concurrent.futures
sys.modules['_queue'].SimpleQueue = queue._PySimpleQueue
