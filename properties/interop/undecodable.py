# What the installed PyTorch's state holder makes of stored bytes.
# Arguments: pickles in hexadecimal digits. Prints for each the class of what is raised, or "None".
import sys
from datetime import timedelta

from torch.distributed.elastic.rendezvous import dynamic_rendezvous as rendezvous


class Backend(rendezvous.RendezvousBackend):
    name = "bytes"

    def __init__(self, stored):
        self.stored = stored

    def get_state(self):
        return self.stored, 1

    def set_state(self, state, token=None):
        raise AssertionError


def raised_by(stored):
    timeout = rendezvous.RendezvousTimeout()
    settings = rendezvous.RendezvousSettings("job", 1, 1, timeout, timedelta(seconds=5), 3)
    try:
        rendezvous._BackendRendezvousStateHolder(Backend(stored), settings, 0).sync()
    except Exception as error:
        return type(error).__name__
    return None


for digits in sys.argv[1:]:
    print(raised_by(bytes.fromhex(digits)), flush=True)
