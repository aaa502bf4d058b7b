"""Runs every operation of the installed PyTorch's TCPStore against a server and checks each result.

usage: store_client.py HOST PORT. Prints one line per operation; the exit status is that of the checks.
"""
import datetime
import sys
import threading
import time

import torch
import torch.distributed as dist

host, port = sys.argv[1], int(sys.argv[2])
is_2x = int(torch.__version__.split(".")[0]) >= 2


def connect():
    return dist.TCPStore(host, port, is_master=False, timeout=datetime.timedelta(seconds=20))


def check(operation, got, expected):
    print(operation, repr(got), flush=True)
    assert got == expected, f"{operation}: expected {expected!r}, got {got!r}"


def fails(operation, call, within):
    begin = time.monotonic()
    try:
        call()
    except Exception as error:  # the type differs between versions; that it fails in time does not
        print(operation, type(error).__name__, flush=True)
        assert time.monotonic() - begin < within, f"{operation}: too late"
    else:
        raise AssertionError(f"{operation}: expected an error")


store = connect()
store.set("k", "v")
check("get", store.get("k"), b"v")
store.set("k", "")
check("get of the empty value", store.get("k"), b"")
store.set("big", "x" * 3_000_000)
check("get of three megabytes", len(store.get("big")), 3_000_000)
check("add to a missing key", store.add("n", 5), 5)
check("add", store.add("n", -7), -2)
check("get of a number", store.get("n"), b"-2")
check("compare_set of a missing key, expecting nothing", store.compare_set("c", "", "1"), b"1")
check("compare_set that wins", store.compare_set("c", "1", "2"), b"2")
check("compare_set that loses", store.compare_set("c", "1", "3"), b"2")
check("compare_set of a missing key, expecting something", store.compare_set("d", "x", "y"), b"x")
before = store.num_keys()
check("delete_key", store.delete_key("c"), True)
check("delete_key of a missing key", store.delete_key("c"), False)
check("num_keys", store.num_keys(), before - 1)
store.wait(["k", "n"])
store.wait(["k"], datetime.timedelta(seconds=1))


def set_later():
    time.sleep(0.3)
    connect().set("late", "here")


setter = threading.Thread(target=set_later)
setter.start()
check("get that waits", store.get("late"), b"here")
setter.join()
impatient = connect()
fails("wait for a missing key", lambda: impatient.wait(["never"], datetime.timedelta(seconds=1)), 10)
prefixed = dist.PrefixStore("p", store)
prefixed.set("a", "1")
check("get through a prefix", prefixed.get("a"), b"1")
check("get of the whole key", store.get("p/a"), b"1")
if is_2x:
    check("check", store.check(["k", "n"]), True)
    check("check of a missing key", store.check(["k", "none"]), False)
    store.append("app", "1")
    store.append("app", "2")
    check("append", store.get("app"), b"12")
    store.multi_set(["m1", "m2"], ["one", "two"])
    check("multi_get", store.multi_get(["m1", "m2"]), [b"one", b"two"])
    store.queue_push("q", "first")
    store.queue_push("q", "second")
    check("queue_len", store.queue_len("q"), 2)
    check("queue_pop", store.queue_pop("q"), b"first")
    check("queue_pop", store.queue_pop("q"), b"second")
    fails("queue_pop of an empty queue", lambda: store.queue_pop("q", False), 10)
    check("the store goes on", store.get("k"), b"")
print("all operations agree")
