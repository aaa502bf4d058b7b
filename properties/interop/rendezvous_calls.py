"""What PyTorch's rendezvous makes of texts, and of handlers that a program uses itself.

    rendezvous_calls.py texts FILE       for each [function, text] of the JSON in FILE, one line
    rendezvous_calls.py three FILE       three handlers of this process meet over the file
    rendezvous_calls.py let_go FILE      a handler is let go; does its node beat before, and after?
    rendezvous_calls.py delays FILE      how often a handler has drawn a delay after each of its joins
    rendezvous_calls.py alone ENDPOINT   a static handler that is alone
"""

import gc
import json
import logging
import sys
import threading
import time
from types import SimpleNamespace

from torch.distributed import FileStore, TCPStore
from torch.distributed.elastic.rendezvous import RendezvousParameters, dynamic_rendezvous, static_tcp_rendezvous, utils
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


def with_key(text):
    return RendezvousParameters("c10d", "localhost", "job", 1, 1, key=text)


def as_bool(text):
    return str(int(with_key(text).get_as_bool("key")))


def as_int(text):
    return str(with_key(text).get_as_int("key"))


def config(text):
    pairs = " ".join(f"{key}={value}" for key, value in sorted(utils._parse_rendezvous_config(text).items()))
    return pairs.replace("\n", "\\n")


def static(text):
    """The endpoint, and behind a stroke the configuration."""
    endpoint, _, pairs = text.partition("|")
    named = utils._parse_rendezvous_config(pairs)
    handler = static_tcp_rendezvous.create_rdzv_handler(RendezvousParameters("static", endpoint, "job", 2, 3, **named))
    return (f"{handler.get_backend()} {handler.get_run_id()} {handler.master_addr} {handler.master_port} {handler.rank} "
            f"{handler.world_size} {int(handler.timeout.total_seconds())}")


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

    def wait_until_a_beat_is_over():
        before = state()
        while state() == before:
            time.sleep(0.05)
        time.sleep(0.3)

    handler = handler_over(path, 1, keep_alive_interval="1")
    handler.next_rendezvous()
    print(beats())
    # Between two beats: during one, the timer's thread holds the handler, too, and would be the last
    # to let go of it. PyTorch then complains that a thread cannot join itself.
    wait_until_a_beat_is_over()
    del handler
    gc.collect()
    print(beats())


def delays(path):
    drawn = []
    delay = dynamic_rendezvous._delay
    dynamic_rendezvous._delay = lambda seconds: drawn.append(seconds) if isinstance(seconds, tuple) else delay(seconds)
    handler = handler_over(path, 1)
    for _ in range(4):
        handler.next_rendezvous()
        print(len(drawn))


def alone(endpoint):
    handler = static_tcp_rendezvous.create_rdzv_handler(
        RendezvousParameters("static", endpoint, "job", 1, 1, rank=0, timeout="20"))
    for _ in range(2):
        info = handler.next_rendezvous()
        print(info.rank, info.world_size, f"{info.bootstrap_store_info.master_addr}:{info.bootstrap_store_info.master_port}")
        info.store.set("key", "value")
    store = TCPStore(handler.master_addr, handler.master_port, wait_for_workers=False)
    print(store.get("/job/key").decode() if store.check(["/job/key"]) else store.get("job/key").decode())
    handler.set_closed()
    print(int(handler.is_closed()), handler.num_nodes_waiting(), int(handler.shutdown()), int(handler.use_agent_store))


globals()[sys.argv[1]](sys.argv[2])
