"""What would leave the world unseen fails loudly: at the start where a module still holds a real function, and in a
guest where something asks the system for what has been replaced."""
import os
import select
import signal
import sys
import threading
import time

import hooke_channel as hooke
import hooke_clocks
import hooke_host
import hooke_processes
import hooke_threads

# Audit events (PEP 578): raised in C, so that it does not matter through which name the function was reached.
REFUSED = ('socket.', 'os.fork', 'os.forkpty', 'os.exec', 'os.posix_spawn', 'os.spawn', 'os.system', 'os.kill',
           'os.killpg', 'subprocess.Popen', '_thread.start_new_thread', 'fcntl.flock', 'fcntl.lockf',
           'signal.pthread_kill', 'time.sleep')
# The replaced functions end there by themselves.
OURS = {'_thread.start_new_thread': hooke_threads.__file__}


def audit(event, arguments):
    if not hooke.ON or not event.startswith(REFUSED):
        return
    frame = sys._getframe(1)
    if event in OURS and frame.f_code.co_filename == OURS[event]:
        return
    hooke.fail('leaves the simulated world: %s' % event)


def refuse(module, name):
    real = getattr(module, name, None)
    if real is None:
        return

    def either(*arguments, **keywords):
        if hooke.ON:
            hooke.fail('leaves the simulated world: %s.%s' % (module.__name__, name))
        return real(*arguments, **keywords)
    either.__name__ = name
    setattr(module, name, either)


# Those without an audit event.
for each in ('wait', 'waitpid', 'wait3', 'wait4', 'waitid', 'times', 'getrandom', 'pidfd_open', 'fork', 'vfork'):
    refuse(os, each)
for each in ('select', 'poll', 'epoll'):
    refuse(select, each)
for each in ('alarm', 'setitimer', 'pause', 'sigwait', 'sigtimedwait', 'sigwaitinfo', 'set_wakeup_fd'):
    refuse(signal, each)


def real_functions():
    """What no module may hold by a name of its own: a guest that reads it would not be heard."""
    out = {}
    for module in (hooke_clocks, hooke_threads, hooke_processes, hooke_host):
        for name, function in module.REAL.items():
            out[id(function)] = '%s.%s' % (module.__name__, name)
    out[id(hooke_clocks.RealDatetime)] = 'datetime.datetime'
    return out


def rebind():
    """Modules that were imported before the replacements get them, too."""
    new = {}
    for module, owner in ((hooke_clocks, time), (hooke_processes, os), (hooke_processes, signal)):
        for name, function in module.REAL.items():
            if hasattr(owner, name):
                new[id(function)] = getattr(owner, name)
    new[id(hooke_threads.REAL['RLock'])] = threading._PyRLock
    new[id(hooke_threads.REAL['allocate_lock'])] = hooke_threads.Lock
    new[id(hooke_threads.REAL['start_new_thread'])] = hooke_threads.start_new_thread
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith('hooke_'):
            continue
        for name, value in list(getattr(module, '__dict__', {}).items()):
            if id(value) in new and (module_name, name) not in ALLOWED:
                setattr(module, name, new[id(value)])


# CPython's own: their use is replaced elsewhere, or ends in a replaced function.
ALLOWED = {
    ('_datetime', 'datetime'),            # C determinism check of the replaced class
    ('_random', 'Random'), ('_socket', 'socket'), ('_signal', 'signal'), ('_signal', 'getsignal'),
    ('posix', 'getpid'), ('posix', 'getppid'), ('posix', 'kill'), ('posix', 'killpg'), ('posix', 'getpgid'),
    ('posix', 'urandom'), ('_queue', 'SimpleQueue'), ('_thread', '_set_sentinel'),
    ('_socket', 'gethostname'),
}


def left_over():
    """Names under which modules and classes still hold a real function."""
    real, out = real_functions(), []
    for module_name, module in sorted(sys.modules.items()):
        if module_name.startswith('hooke_'):
            continue
        for name, value in sorted(getattr(module, '__dict__', {}).items(), key=lambda item: str(item[0])):
            if id(value) in real and (module_name, name) not in ALLOWED:
                out.append('%s.%s' % (module_name, name))
            if issubclass(type(value), type) and getattr(value, '__module__', None) == module_name:
                out.extend('%s.%s.%s' % (module_name, name, inner) for inner, held in vars(value).items()
                           if id(held) in real and not (module_name == 'random' and inner == 'seed'))
    return out


rebind()
