"""Random situations of PyTorch's dynamic rendezvous, and their JSON, for recorded_decisions.py.

The clocks of the module are replaced when this is imported.
"""

from datetime import datetime, timedelta, timezone
from fractions import Fraction
from types import SimpleNamespace

from torch.distributed.elastic.rendezvous import dynamic_rendezvous as pytorchs

HAS_SPARES = hasattr(pytorchs._RendezvousState(), "redundancy_list")
NOW = datetime(2027, 1, 15, 8, tzinfo=timezone.utc if hasattr(pytorchs, "timezone") else None)
MONOTONIC_NOW = 1_000_000  # not near 0, where a cache that was never filled counts as fresh
SECOND = 10**6  # all times here are whole microseconds

ADDRESSES = ["a", "b", "é", "Node-1", "node-1", "node-10", "node-2", "node-2.example.org", "10.0.0.2", "узел", "😀node", ""]
LISTS = ["participants", "wait_list"] + (["redundancy_list"] if HAS_SPARES else [])


class Clocks:
    """Those of the module. Exact: what lies on a limit lies on it."""

    since = 0

    def wall(self, _zone=None):
        return NOW + timedelta(microseconds=self.since)

    def monotonic(self):
        return MONOTONIC_NOW + Fraction(self.since, SECOND)


CLOCKS = Clocks()
pytorchs.datetime = SimpleNamespace(now=CLOCKS.wall, utcnow=CLOCKS.wall)
pytorchs.time = SimpleNamespace(monotonic=CLOCKS.monotonic)


def monotonic(microseconds):
    return MONOTONIC_NOW + Fraction(microseconds, SECOND)


# ---- to JSON ------------------------------------------------------------------------------------


def seconds(microseconds):
    return microseconds / SECOND


def moment(at):
    return None if at is None else seconds((at - NOW) // timedelta(microseconds=1))


def node_json(node):
    addr, pid, local_id = vars(node).values()
    return {"addr": addr, "pid": pid, "local_id": local_id}


def state_json(state):
    out = {"round": state.round, "complete": state.complete, "deadline": moment(state.deadline), "closed": state.closed,
           "participants": [{**node_json(node), "rank": rank} for node, rank in state.participants.items()],
           "wait_list": [node_json(node) for node in sorted(state.wait_list)],
           "last_heartbeats": [{**node_json(node), "time": moment(at)} for node, at in state.last_heartbeats.items()]}
    if HAS_SPARES:
        out["redundancy_list"] = [node_json(node) for node in sorted(state.redundancy_list)]
    return out


def settings_json(settings):
    timeout = settings.timeout
    out = {"min_nodes": settings.min_nodes, "max_nodes": settings.max_nodes,
           "keep_alive_max_attempt": settings.keep_alive_max_attempt}
    for name, span in [("join", timeout.join), ("last_call", timeout.last_call), ("close", timeout.close),
                       ("heartbeat", timeout.heartbeat), ("keep_alive_interval", settings.keep_alive_interval)]:
        out[name] = seconds(span // timedelta(microseconds=1))
    return out


# ---- situations ---------------------------------------------------------------------------------


def draw_settings(draw):
    def span(*choices):
        return timedelta(seconds=draw.choice(choices))

    least = draw.choice([1, 1, 2, 3, 4, 8])
    most = least + draw.choice([0, 0, 1, 2, 5])
    timeout = pytorchs.RendezvousTimeout(span(5, 10, 60, 600), span(1, 5, 30), span(5, 30), span(5, 10))
    return pytorchs.RendezvousSettings("job", least, most, timeout, keep_alive_interval=span(1, 2.5, 5),
                                       keep_alive_max_attempt=draw.choice([1, 3, 5]))


def draw_nodes(draw, count):
    nodes = {}
    while len(nodes) < count:
        nodes[pytorchs._NodeDesc(draw.choice(ADDRESSES), draw.choice([1, 9, 10, 100, 31_000]), draw.choice([0, 0, 1, 10]))] = None
    return list(nodes)


def draw_age(draw, settings):
    """Of a heartbeat: often at a limit, or a microsecond beside it."""
    interval = settings.keep_alive_interval // timedelta(microseconds=1)
    limit = draw.choice([0, interval, interval, interval * settings.keep_alive_max_attempt])
    return draw.choice([limit, limit + draw.choice([-1, 1]), draw.randrange(2 * interval), draw.randrange(interval // 2),
                        -draw.randrange(30 * SECOND) if draw.random() < 0.1 else 0,
                        draw.randrange(90 * SECOND) if draw.random() < 0.3 else interval // 3])


def draw_near(draw, at, span):
    return at + draw.choice([0, -1, 1, draw.randrange(-span, span)])


def draw_state(draw, settings, nodes):
    """Of these nodes, some of them unknown to it. Most could come about."""
    state = pytorchs._RendezvousState()
    state.round = draw.choice([0, 0, 1, 2, 1000])
    state.closed = draw.random() < 0.1
    seats = draw.choice([settings.max_nodes, settings.min_nodes, settings.min_nodes - 1, draw.randrange(10)])
    for node in nodes:
        if draw.random() < 0.15:
            chosen = "none"
        elif len(state.participants) < seats:
            chosen = "participants"
        else:
            chosen = draw.choice(LISTS[1:])
        if chosen == "participants":
            state.participants[node] = 0
        elif chosen != "none":
            getattr(state, chosen).add(node)
        if draw.random() < (0.05 if chosen == "none" else 0.97):
            state.last_heartbeats[node] = CLOCKS.wall() - timedelta(microseconds=draw_age(draw, settings))
    size = len(state.participants)
    state.complete = size >= settings.min_nodes and draw.random() < (0.9 if size >= settings.max_nodes else 0.4)
    if state.complete:
        for rank, node in enumerate(sorted(state.participants)):
            state.participants[node] = rank
    elif size >= settings.min_nodes and draw.random() < 0.97:
        state.deadline = CLOCKS.wall() + timedelta(microseconds=draw_near(draw, 0, 10 * SECOND))
    return state


def draw_situation(draw):
    """Settings, nodes and a state; the first of the nodes is the one that asks."""
    settings = draw_settings(draw)
    nodes = draw_nodes(draw, 1 + draw.randrange(settings.max_nodes + 3))
    state = draw_state(draw, settings, draw.sample(nodes, len(nodes)))
    if draw.random() < 0.15:
        nodes.insert(0, draw_nodes(draw, 1)[0])
    return settings, nodes, state
