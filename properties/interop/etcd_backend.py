# The installed PyTorch's EtcdRendezvousBackend, told what to do.
# Arguments: for each run "NAME PORT READ_TIMEOUT STEP..." with steps "get", "create=TEXT" (without a token),
# "swap=TEXT" (with the latest token), "stale=TEXT" (with the first one), "foreign=TEXT" (with one that is no number)
# and "vanish=TEXT": etcd loses the state, which is TEXT. Prints "NAME STEP: RESULT" for each step.
import logging
import sys
from base64 import b64encode

from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.etcd_rendezvous_backend import create_backend

logging.disable(logging.CRITICAL)  # what is printed is compared as a whole


def steps(name, port, read_timeout, *texts):
    backend, _ = create_backend(
        RendezvousParameters("etcd-v2", f"localhost:{port}", name, 1, 1, read_timeout=read_timeout)
    )
    tokens = []
    for text in texts:
        step, _, state = text.partition("=")
        token = {"swap": tokens and tokens[-1], "stale": tokens and tokens[0], "foreign": "no number"}.get(step)
        if step == "vanish":
            backend._client.delete(backend._key, prevValue=b64encode(state.encode()).decode())
            yield text, "gone"
            continue
        try:
            result = backend.get_state() if step == "get" else backend.set_state(state.encode(), token)
        except Exception as error:
            yield text, type(error).__name__
            continue
        if result is None:
            yield text, "nothing"
            continue
        tokens.append(result[1])
        yield text, result[0].decode() + ("" if step == "get" else " set" if result[2] else " not set")


for run in sys.argv[1:]:
    name, *rest = run.split()
    for step, result in steps(name, *rest):
        print(f"{name} {step}: {result}", flush=True)
