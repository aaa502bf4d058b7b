"""What PyTorch's registry of rendezvous handlers says of the same creator twice, of another one, and of no name."""
from torch.distributed.elastic.rendezvous.api import RendezvousHandlerRegistry


def one(parameters):
    return None


def another(parameters):
    return None


registry = RendezvousHandlerRegistry()
for name, creator in [("mine", one), ("mine", one), ("mine", another), ("", one)]:
    try:
        registry.register(name, creator)
        print("taken")
    except ValueError:
        print("refused")
