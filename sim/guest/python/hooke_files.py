"""Files and FIFOs of the simulated machine, for a module that is given them in place of its own `os`, `open`, `tempfile`
and `shutil`. All other modules have real ones, in a directory of the guest's own."""
import errno
import io
import os
import tempfile

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


class TextWriter(io.StringIO):
    """A text file that is open for writing: its bytes reach the disk when it is closed, as from a buffer."""

    def __init__(self, path):
        self.path = None
        super().__init__()
        store(path, '')                   # there, and empty, from now on
        self.path = path

    def close(self):
        path, self.path = self.path, None
        if path is None:
            return super().close()
        try:
            text = self.getvalue()
            if text:
                store(path, text)
        finally:
            super().close()


def store(path, text):
    number = hooke.call('write', path, text.encode())
    if number:
        failed(number, path)


def open_file(path, mode='r', *arguments, **keywords):
    if not hooke.ON:
        return open(path, mode, *arguments, **keywords)
    if mode in ('w', 'wt'):
        return TextWriter(path)
    if mode not in ('r', 'rt'):
        hooke.fail('opens a file of the simulated machine with the mode %r' % mode)
    number, content = hooke.call('read', path)
    if number:
        failed(number, path)
    return io.TextIOWrapper(io.BytesIO(content), encoding='utf-8')


class Paths:
    """os.path, of the simulated machine."""

    def exists(self, path):
        return hooke.call('exists', path) if hooke.ON else os.path.exists(path)

    def isfile(self, path):
        return hooke.call('kind', path) == 'file' if hooke.ON else os.path.isfile(path)

    def isdir(self, path):
        return hooke.call('kind', path) == 'directory' if hooke.ON else os.path.isdir(path)

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
    """The module os."""
    path = Paths()
    mkfifo, remove, mkdir = change('mkfifo'), change('remove'), change('mkdir')

    def makedirs(self, path, mode=0o777, exist_ok=False):
        if not hooke.ON:
            return os.makedirs(path, mode, exist_ok)
        if not exist_ok and hooke.call('exists', path):
            failed(errno.EEXIST, path)
        number = hooke.call('makedirs', path)
        if number:
            failed(number, path)

    def listdir(self, path='.'):
        if not hooke.ON:
            return os.listdir(path)
        number, names = hooke.call('listdir', path)
        if number:
            failed(number, path)
        return list(names)

    def __getattr__(self, name):
        return getattr(os, name)


class Temporary:
    """The module tempfile."""

    def gettempdir(self):
        if not hooke.ON:
            return tempfile.gettempdir()
        path = os.environ.get('TMPDIR', '')
        return path if path and path != hooke.HOME else '/tmp'

    def mkdtemp(self, suffix=None, prefix='tmp', dir=None):
        if not hooke.ON:
            return tempfile.mkdtemp(suffix, prefix, dir)
        parent = dir
        if parent is None:
            parent = self.gettempdir()
            System().makedirs(parent, exist_ok=True)     # one is there on every machine
        for name in tempfile._get_candidate_names():
            path = os.path.join(parent, prefix + name + (suffix or ''))
            try:
                System().mkdir(path)
            except FileExistsError:
                continue
            return path

    def __getattr__(self, name):
        return getattr(tempfile, name)


class Trees:
    """The module shutil."""

    def rmtree(self, path, ignore_errors=False):
        import shutil
        if not hooke.ON:
            return shutil.rmtree(path, ignore_errors)
        number = hooke.call('rmtree', path)
        if number and not ignore_errors:
            failed(number, path)

    def __getattr__(self, name):
        import shutil
        return getattr(shutil, name)


def give_fifos_to(module):
    module.os, module.open = System(), open_fifo


def give_files_to(module):
    """Where it has such a module; `open` is a name of its own from now on."""
    module.open = open_file
    for name, ours in (('os', System()), ('tempfile', Temporary()), ('shutil', Trees())):
        if hasattr(module, name):
            setattr(module, name, ours)
