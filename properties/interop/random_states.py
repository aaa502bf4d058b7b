"""Writes random rendezvous states to a file as PyTorch itself would store them.

    random_states.py SEED COUNT FILE

Each state is the length of its pickle in four bytes, least significant first, and the pickle. One
path of many syncs gives nodes the object identities that they have in a real job: what was read
back is other objects than what the node itself puts in.
"""

import datetime
import pickle
import random
import sys

from torch.distributed.elastic.rendezvous import dynamic_rendezvous

# Texts that CPython keeps once per process, texts as short that it does not, and longer ones.
ONE_CHARACTER = ["a", "b", "c", "1", "~", "\x7f", "\x80", "é", "ÿ", ""]
OTHERS = ["Ā", "ж", "中", "😀", "é1", "node-ж", "aa", "addr", "pid", "host-0.example", "n" * 300]
TWO_X = hasattr(dynamic_rendezvous._RendezvousState(), "redundancy_list")


def text(characters):
    """A text of its own, as a name from a socket is, unless CPython shares it."""
    return characters.encode().decode()


PIDS = [1, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**63 - 1]
OWN_PID = 7  # none of these


def node(draw, pid=None):
    names = ONE_CHARACTER if draw.random() < 0.6 else OTHERS
    if pid is None:
        pid = draw.choice(PIDS) if draw.random() < 0.5 else 8 + draw.randrange(2**62)
    return dynamic_rendezvous._NodeDesc(text(draw.choice(names)), pid, draw.randrange(3))


def time(draw):
    zone = datetime.timezone.utc if TWO_X else None
    start = datetime.datetime(2000, 1, 1, tzinfo=zone)
    return start + datetime.timedelta(microseconds=draw.randrange(10**15))


def same_node_again(draw, one):
    """Now and then another object of equal value, as after the wait list."""
    if draw.random() < 0.5:
        return one
    addr, pid, local_id = vars(one).values()
    return dynamic_rendezvous._NodeDesc(text(addr), pid, local_id)


def state_of(draw):
    state = dynamic_rendezvous._RendezvousState()
    state.round = draw.choice([0, 1, 300, 70_000, draw.randrange(2**40)])
    state.complete = draw.random() < 0.5
    state.closed = draw.random() < 0.2
    if draw.random() < 0.5:
        state.deadline = time(draw)
    # More than 60 nodes take the memo past place 255, more than 1000 fill a batch.
    size = draw.randrange(100) if draw.random() < 0.1 else draw.randrange(9)
    if draw.random() < 0.003:
        size = 1000 + draw.randrange(3)
    for one in dict.fromkeys(node(draw) for _ in range(size)):  # no node is in two lists
        lists = draw.choice(["participants", "participants", "wait_list", "redundancy_list", "none"])
        if lists == "participants":
            state.participants[one] = draw.choice([0, len(state.participants), 255, 256])
        elif lists == "wait_list":
            state.wait_list.add(one)
        elif lists == "redundancy_list" and TWO_X:
            state.redundancy_list.add(one)
        if draw.random() < 0.9:
            state.last_heartbeats[same_node_again(draw, one)] = time(draw)
    return state


def main(seed, count, path):
    draw = random.Random(seed)
    with open(path, "wb") as out:
        for _ in range(count):
            state = state_of(draw)
            if draw.random() < 0.5:  # read back, then written with one node of this process more
                state = pickle.loads(pickle.dumps(state))
                one = node(draw, OWN_PID)
                state.participants[one] = 0
                state.last_heartbeats[one] = time(draw)
            bits = pickle.dumps(state)
            if bits[1] != 4:
                bits = pickle.dumps(state, protocol=4)
            out.write(len(bits).to_bytes(4, "little") + bits)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
