"""Signals, pids and children."""
import os
import signal
import subprocess
import time

import hooke_channel as hooke

REAL = {'signal': signal.signal, 'getsignal': signal.getsignal, 'getpid': os.getpid, 'getppid': os.getppid,
        'kill': os.kill, 'killpg': os.killpg, 'Popen': subprocess.Popen, 'getpgid': os.getpgid}


def set_handler(number, handler):
    if not hooke.ON:
        return REAL['signal'](number, handler)
    if hooke.slot() != 0:
        raise ValueError('signal only works in main thread of the main interpreter')
    old = hooke.HANDLERS.get(int(number), signal.SIG_DFL)
    hooke.HANDLERS[int(number)] = handler
    if handler != signal.SIG_DFL:
        hooke.NOTES.append(('catch', int(number)))
    return old


def get_handler(number):
    return hooke.HANDLERS.get(int(number), signal.SIG_DFL) if hooke.ON else REAL['getsignal'](number)


def sender(request, real):
    def send(pid, number):
        if not hooke.ON:
            return real(pid, number)
        if hooke.call(request, int(pid), int(number)):
            raise ProcessLookupError(3, 'No such process')
    return send


class Popen(REAL['Popen']):
    def __init__(self, args, bufsize=-1, executable=None, stdin=None, stdout=None, stderr=None, env=None,
                 start_new_session=False, **others):
        if not hooke.ON:
            return super().__init__(args, bufsize, executable, stdin, stdout, stderr, env=env,
                                    start_new_session=start_new_session, **others)
        self.args, self.returncode, self.pid = args, None, None
        self.stdin = self.stdout = self.stderr = None
        self._child_created = False       # nothing for __del__ to look after
        unknown = sorted(name for name, value in others.items() if value)
        if isinstance(args, str) or executable or stdin or stdout or stderr or unknown:
            hooke.fail('starts a child in a way that hooke does not have: %r, streams %r, others %r' % (
                args, (stdin, stdout, stderr), unknown))
        variables = sorted((os.environ if env is None else env).items())
        started, found = hooke.call('spawn', [str(each) for each in args], variables, bool(start_new_session))
        if not started:
            raise FileNotFoundError(2, found, str(args[0]))
        self.pid = found

    def poll(self):
        if not hooke.ON:
            return super().poll()
        if self.returncode is None and self.pid in hooke.ENDED:
            self._reaped(hooke.call('poll', self.pid))
        return self.returncode

    def _reaped(self, status):
        hooke.ENDED.discard(self.pid)
        self.returncode = status

    def wait(self, timeout=None):
        if not hooke.ON:
            return super().wait(timeout)
        if timeout is not None:
            return self._look_until(time.monotonic() + timeout, timeout)
        while self.returncode is None:
            status, _ = hooke.ask('wait', self.pid, -1)
            if status is not None:
                self._reaped(status)
            if hooke.PENDING:
                hooke.run_handlers()
        return self.returncode

    def _look_until(self, end, timeout):
        """CPython does not wait for the child here: it looks again and again, with growing pauses."""
        pause = 0.0005
        while self.poll() is None:
            remaining = end - time.monotonic()
            if remaining <= 0:
                raise subprocess.TimeoutExpired(self.args, timeout)
            pause = min(pause * 2, remaining, .05)
            time.sleep(pause)
        return self.returncode

    def send_signal(self, number):
        if not hooke.ON:
            return super().send_signal(number)
        if self.poll() is None:
            os.kill(self.pid, number)

    def communicate(self, *arguments, **keywords):
        if not hooke.ON:
            return super().communicate(*arguments, **keywords)
        hooke.fail('reads the streams of a child')

    def __exit__(self, *exception):
        if not hooke.ON:
            return super().__exit__(*exception)
        self.wait()


Popen.__module__, Popen.__qualname__ = 'subprocess', 'Popen'
subprocess.Popen = Popen
signal.signal, signal.getsignal = set_handler, get_handler
os.getpid = lambda: hooke.PID if hooke.ON else REAL['getpid']()
os.getppid = lambda: 1 if hooke.ON else REAL['getppid']()
os.getpgid = lambda pid: pid if hooke.ON else REAL['getpgid'](pid)    # the children lead their sessions
os.kill, os.killpg = sender('kill', REAL['kill']), sender('killpg', REAL['killpg'])


def begin():
    hooke.HANDLERS.clear()
    set_handler(signal.SIGINT, signal.default_int_handler)
