# The installed PyTorch's EtcdStore, told what to do.
# Arguments: for each run "NAME PORT STEP..." with steps "set=KEY", "check=KEY,KEY" and "wait=SECONDS=KEY,KEY". Each run
# has a store of its own, /NAME. Prints "NAME STEP: RESULT" for each step.
import datetime
import sys

import etcd
from torch.distributed.elastic.rendezvous.etcd_store import EtcdStore


def result(store, step, *texts):
    keys = texts[-1].split(",")
    try:
        if step == "set":
            return store.set(keys[0], "v")
        if step == "check":
            return store.check(keys)
        return store.wait(keys, datetime.timedelta(seconds=float(texts[0])))
    except Exception as error:
        return type(error).__name__


for run in sys.argv[1:]:
    name, port, *steps = run.split()
    store = EtcdStore(etcd.Client("localhost", int(port), allow_reconnect=True), f"/{name}")
    for step in steps:
        print(f"{name} {step}: {result(store, *step.split('='))}", flush=True)
