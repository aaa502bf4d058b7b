"""Names, addresses, free ports and randomness."""
import os
import random
import socket
import tempfile

import hooke_channel as hooke

REAL = {'getfqdn': socket.getfqdn, 'gethostname': socket.gethostname, 'getaddrinfo': socket.getaddrinfo,
        'socket': socket.socket, 'urandom': os.urandom, 'seed': random.Random.seed}
GENERATOR = random.Random(0)              # what os.urandom draws from


def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
    if not hooke.ON:
        return REAL['getaddrinfo'](host, port, family, type, proto, flags)
    found = hooke.call('resolve', host or 'localhost')
    if found is None:
        raise socket.gaierror(socket.EAI_NONAME, 'Name or service not known')
    canonical, addresses = found
    canonical = canonical if flags & socket.AI_CANONNAME else ''
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, canonical, (address, int(port or 0))) for address in addresses]


class PortSocket:
    """What asking for a free port needs of a socket."""

    def __init__(self, *arguments, **keywords):
        self.wanted, self.port = 0, 0

    def setsockopt(self, *arguments):
        pass

    def bind(self, address):
        self.wanted = address[1]

    def listen(self, backlog=0):
        self.port = hooke.call('listen', self.wanted)
        if self.port is None:
            self.port = 0
            raise OSError(98, 'Address already in use')

    def getsockname(self):
        return ('0.0.0.0', self.port)

    def close(self):
        if self.port:
            hooke.call('unlisten', self.port)
            self.port = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __getattr__(self, name):
        hooke.fail('uses a socket for more than a free port: socket.%s' % name)


class Socket(REAL['socket']):
    def __new__(cls, *arguments, **keywords):
        return PortSocket() if hooke.ON else REAL['socket'].__new__(cls, *arguments, **keywords)


def seed_itself(self, a=None, version=2):
    """A generator without a seed takes one from the system, unasked."""
    REAL['seed'](self, GENERATOR.getrandbits(62) if a is None and hooke.ON else a, version)


Socket.__name__ = Socket.__qualname__ = 'socket'
socket.socket = socket.SocketType = Socket
socket.getfqdn = lambda name='': (name or hooke.FULL_NAME) if hooke.ON else REAL['getfqdn'](name)
socket.gethostname = lambda: hooke.NODE if hooke.ON else REAL['gethostname']()
socket.getaddrinfo = getaddrinfo
os.urandom = random._urandom = lambda n: GENERATOR.randbytes(n) if hooke.ON else REAL['urandom'](n)
random.Random.seed = seed_itself
random.seed = random._inst.seed           # bound to the old one when random was imported


def begin():
    REAL['seed'](GENERATOR, hooke.call('seed'))
    random.seed()
    tempfile.tempdir = None
    tempfile._name_sequence = tempfile._RandomNameSequence()
    tempfile._name_sequence._rng = random.Random()
    tempfile._name_sequence._rng_pid = os.getpid()
