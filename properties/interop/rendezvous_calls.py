"""What PyTorch's rendezvous makes of texts, and of handlers that a program uses itself.

    rendezvous_calls.py texts FILE       for each [function, text] of the JSON in FILE, one line
    rendezvous_calls.py three FILE       three handlers of this process meet over the file
    rendezvous_calls.py let_go FILE      a handler is let go; does its node beat before, and after?
"""

import gc
import json
import logging
import sys
import threading
import time
from types import SimpleNamespace

from torch.distributed import FileStore
from torch.distributed.elastic.rendezvous import RendezvousParameters, utils
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler, create_handler

logging.disable(logging.CRITICAL)


def protocol_of(module, text):
    module.etcd = SimpleNamespace(Client=lambda *args, **named: named["protocol"], EtcdException=Exception)
    return module._create_etcd_client(RendezvousParameters("etcd", "localhost", "job", 1, 1, protocol=text))


def is_own(text):
    return str(int(utils._matches_machine_hostname(text)))


def endpoint(text):
    host, port = utils.parse_rendezvous_endpoint(text, 29400)
    return f"{host} {port}"


def etcd_v2(text):
    from torch.distributed.elastic.rendezvous import etcd_rendezvous_backend

    return protocol_of(etcd_rendezvous_backend, text)


def legacy_etcd(text):
    from torch.distributed.elastic.rendezvous import etcd_rendezvous

    return protocol_of(etcd_rendezvous, text)


def texts(path):
    with open(path) as file:
        for function, text in json.load(file):
            try:
                print(globals()[function](text))
            except ValueError:
                print("ValueError")


def handler_over(path, nodes, **config):
    store = FileStore(path)
    parameters = RendezvousParameters("c10d", "", "job", nodes, nodes, **config)
    return create_handler(store, C10dRendezvousBackend(store, "job"), parameters)


def three(path):
    threads = [threading.Thread(target=handler_over(path, 3).next_rendezvous) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def let_go(path):
    def state():
        return FileStore(path).get("torch.rendezvous.job")

    def beats():
        before = state()
        time.sleep(4)
        return state() != before

    handler = handler_over(path, 1, keep_alive_interval="1")
    handler.next_rendezvous()
    print(beats())
    del handler
    gc.collect()
    print(beats())


globals()[sys.argv[1]](sys.argv[2])
