"""FIFOs of the simulated machine, for a module that is given them in place of its own `os` and `open`. All other files
are real ones."""
import os

import hooke_channel as hooke


def failed(number, path):
    raise OSError(number, os.strerror(number), path)      # of the subclass that the number has


class FifoReader:
    """A text file that is open for reading. A line is complete with its end, or when no process writes any more."""

    def __init__(self, path):
        number, self.handle = hooke.call('open_fifo', path)
        if number:
            failed(number, path)
        self.rest = b''

    def readline(self):
        while b'\n' not in self.rest:
            more = hooke.call('read_fifo', self.handle)
            if not more:
                line, self.rest = self.rest, b''
                return line.decode()
            self.rest += more
        line, _, self.rest = self.rest.partition(b'\n')
        return line.decode() + '\n'

    def close(self):
        if self.handle:
            hooke.call('close_fifo', self.handle)
            self.handle = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def open_fifo(path, mode='r'):
    if not hooke.ON:
        return open(path, mode)
    if mode not in ('r', 'rt'):
        hooke.fail('opens a FIFO with the mode %r' % mode)
    return FifoReader(path)


class Paths:
    """os.path, for FIFOs."""

    def exists(self, path):
        return hooke.call('exists', path) if hooke.ON else os.path.exists(path)

    def __getattr__(self, name):
        return getattr(os.path, name)


def change(name):
    """The function of os that has this name, which the request for it has, too."""
    real = getattr(os, name)

    def changed(self, path):
        if not hooke.ON:
            return real(path)
        number = hooke.call(name, path)
        if number:
            failed(number, path)
    return changed


class System:
    """The module os, for FIFOs."""
    path = Paths()
    mkfifo, remove = change('mkfifo'), change('remove')

    def __getattr__(self, name):
        return getattr(os, name)


def give_fifos_to(module):
    module.os, module.open = System(), open_fifo
