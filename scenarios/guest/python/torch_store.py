"""torch.distributed.TCPStore, FileStore and PrefixStore, spoken by hooke's own client and server."""
import datetime

import hooke_channel as hooke
import torch.distributed as dist

# Older releases have no classes of their own.
ERRORS = {'DistStoreError': getattr(dist, 'DistStoreError', RuntimeError),
          'DistNetworkError': getattr(dist, 'DistNetworkError', RuntimeError),
          'DistError': getattr(dist, 'DistError', RuntimeError),
          'RuntimeError': RuntimeError}
NANOSECONDS = 1_000_000_000


def request(*words):
    kind, value = hooke.call(*words)
    if kind:
        raise ERRORS[kind](value)
    return value


def span(delta):
    return (delta.days * 86_400 + delta.seconds) * NANOSECONDS + delta.microseconds * 1000


def content(value):
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """Waits of the C++ store do not hear signals, nor do these: hooke.call."""

    def operate(self, name, *words):
        return request('store.' + name, self.handle, *words)

    @property
    def timeout(self):
        return datetime.timedelta(microseconds=self.operate('timeout') // 1000)

    def set_timeout(self, timeout):
        self.operate('set_timeout', span(timeout))

    def key(self, key):
        return key

    def set(self, key, value):
        self.operate('set', self.key(key), content(value))

    def get(self, key):
        return self.operate('get', self.key(key))

    def add(self, key, amount):
        return self.operate('add', self.key(key), amount)

    def compare_set(self, key, expected, desired):
        return self.operate('compare_set', self.key(key), content(expected), content(desired))

    def wait(self, keys, timeout=None):
        self.operate('wait', [self.key(key) for key in keys], -1 if timeout is None else span(timeout))

    def check(self, keys):
        return self.operate('check', [self.key(key) for key in keys])

    def multi_get(self, keys):
        return list(self.operate('multi_get', [self.key(key) for key in keys]))

    def multi_set(self, keys, values):
        self.operate('multi_set', [self.key(key) for key in keys], [content(value) for value in values])

    def append(self, key, value):
        self.operate('append', self.key(key), content(value))

    def delete_key(self, key):
        return self.operate('delete_key', self.key(key))

    def num_keys(self):
        return self.operate('num_keys')


class TCPStore(Store):
    def __init__(self, host_name, port, world_size=None, is_master=False,
                 timeout=datetime.timedelta(seconds=300), wait_for_workers=True, multi_tenant=False,
                 master_listen_fd=None, use_libuv=True):
        if master_listen_fd is not None:
            hooke.fail('gives a store a socket that listens')
        if world_size is not None and wait_for_workers:
            hooke.fail('waits for all clients of a store')
        self.host = host_name
        self.handle, self.port = request('store.connect', host_name, port, is_master, multi_tenant,
                                         span(timeout), world_size is not None)

    def __del__(self):
        if hooke.ON and hasattr(self, 'handle'):
            hooke.NOTES.append(('store.close', self.handle))


class PrefixStore(Store):
    def __init__(self, prefix, store):
        self.prefix, self.underlying_store, self.handle = prefix, store, store.handle

    def key(self, key):
        return self.underlying_store.key(self.prefix + '/' + key)


class FileStore(Store):
    """On a file of the simulated machine."""

    def __init__(self, file_name, world_size=-1):
        if world_size > 0:
            hooke.fail('counts the users of a FileStore down from %d' % world_size)
        self.path = file_name
        self.handle, _ = request('store.open', file_name)

    def __del__(self):
        if hooke.ON and hasattr(self, 'handle'):
            hooke.ask('store.leave', self.handle)   # writes; no handler runs here, where its exception would be lost


dist.TCPStore, dist.PrefixStore, dist.FileStore = TCPStore, PrefixStore, FileStore
