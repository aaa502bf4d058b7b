"""Writes down what PyTorch's own dynamic rendezvous does in random situations, one JSON object per line.

    recorded_decisions.py SEED COUNT FILE

Both of its clocks are replaced. A case is what recorded_case.h reads: times are seconds from "now", which is 0 on both
clocks, in whole microseconds. `expect` is what PyTorch did; all else is what it was given. Five kinds:

* decide: one operation looks at one state,
* apply: the executor carries out one action,
* sanitize: dead nodes are dropped from a state that was read,
* sync: a state holder and its backend, with other writers, losses and failures, step by step,
* run: a whole operation through the executor, with other writers before some of its exchanges.
"""

import json
import pickle
import random
import sys
from datetime import timedelta
from fractions import Fraction

from recorded_situations import (CLOCKS, HAS_SPARES, SECOND, draw_near, draw_situation, draw_state, monotonic, node_json, seconds,
                                 settings_json, state_json)
from torch.distributed.elastic.rendezvous import RendezvousConnectionError
from torch.distributed.elastic.rendezvous import dynamic_rendezvous as pytorchs

SYNCS_MAX = 60  # then another writer closes the rendezvous: a spare has no deadline
WAIT = 1_015_625  # a little more than the second that it is told to wait: caches are old then

OPERATIONS = {"join": pytorchs._RendezvousJoinOp, "exit": pytorchs._RendezvousExitOp,
              "close": pytorchs._RendezvousCloseOp, "keep_alive": pytorchs._RendezvousKeepAliveOp}


class Backend(pytorchs.RendezvousBackend):
    """One value with a counting token."""

    name = "recorded"

    def __init__(self):
        self.bits, self.token, self.call, self.fails = None, 0, None, False

    def _called(self, call):
        self.call = call
        if self.fails:
            self.fails = False
            raise RendezvousConnectionError("told to fail")

    def get_state(self):
        self._called("get")
        return None if self.bits is None else (self.bits, self.token)

    def set_state(self, state, token=None):
        self._called("set")
        if self.bits is not None if token is None else self.bits is None or token != self.token:
            return None if self.bits is None else (self.bits, self.token, False)
        self.bits, self.token = state, self.token + 1
        return self.bits, self.token, True


def raised_by(call):
    """The name of the class, or None."""
    try:
        call()
    except Exception as error:  # noqa: BLE001  (whatever it is, it is on record)
        return type(error).__name__
    return None


# ---- cases --------------------------------------------------------------------------------------


class OneAction:
    """In place of a state holder: it holds a state, and syncs nothing."""

    def __init__(self, state):
        self.state, self.dirty = state, False

    def sync(self):
        return None

    def mark_dirty(self):
        self.dirty = True


def executor_of(node, holder, settings):
    return pytorchs._DistributedRendezvousOpExecutor(node, holder, settings)


def decide(draw):
    settings, nodes, state = draw_situation(draw)
    operation = draw.choice(["join", "join", "join", "exit", "close", "keep_alive"])
    deadline = draw_near(draw, draw.choice([0, 0, -5 * SECOND, 60 * SECOND, 60 * SECOND]), 4 * SECOND)
    out = {"op": operation, "node": node_json(nodes[0]), "settings": settings_json(settings), "state": state_json(state),
           "op_deadline": seconds(deadline)}
    context = pytorchs._RendezvousContext(nodes[0], state, settings)
    decided = []
    raises = raised_by(lambda: decided.append(OPERATIONS[operation]()(context, monotonic(deadline))))
    action = decided[0].name if decided else None
    errors = {"ERROR_CLOSED": "RendezvousClosedError", "ERROR_TIMEOUT": "RendezvousTimeoutError"}
    out["expect"] = {"action": action, "raises": errors.get(action, raises)}
    return out


def apply(draw):
    settings, nodes, state = draw_situation(draw)
    actions = [action for action in pytorchs._Action if not action.name.startswith(("ERROR", "FINISH"))]
    action = draw.choice(actions)
    out = {"action": action.name, "node": node_json(nodes[0]), "settings": settings_json(settings), "state": state_json(state)}
    holder, waits = OneAction(state), []
    pytorchs._delay = lambda seconds: waits.append(seconds)
    turns = iter([action, pytorchs._Action.FINISH])
    raises = raised_by(lambda: executor_of(nodes[0], holder, settings).run(lambda _context, _deadline: next(turns), 0))
    out["expect"] = {"raises": raises}
    if raises is None:
        out["expect"].update(after=state_json(state), dirty=holder.dirty, waits=waits)
    return out


def sanitize(draw):
    settings, _, state = draw_situation(draw)
    out = {"settings": settings_json(settings), "state": state_json(state)}
    holder = pytorchs._BackendRendezvousStateHolder(Backend(), settings)
    holder._state = state
    holder._sanitize()
    out["expect"] = {"after": state_json(state), "dead": [node_json(node) for node in sorted(holder._dead_nodes)]}
    return out


def change_of(draw, node, state):
    """What this node could do to this state next."""
    if node in state.participants:
        names = ["KEEP_ALIVE", "MARK_RENDEZVOUS_COMPLETE", "REMOVE_FROM_PARTICIPANTS"]
    elif node in state.wait_list:
        names = ["KEEP_ALIVE", "REMOVE_FROM_WAIT_LIST"]
    elif HAS_SPARES and node in state.redundancy_list:
        names = ["KEEP_ALIVE", "REMOVE_FROM_REDUNDANCY_LIST"]
    else:
        names = ["ADD_TO_PARTICIPANTS", "ADD_TO_PARTICIPANTS", "ADD_TO_WAIT_LIST"] + (["ADD_TO_REDUNDANCY_LIST"] if HAS_SPARES else [])
    name = draw.choice(names + (["MARK_RENDEZVOUS_CLOSED"] if draw.random() < 0.1 else []))
    if name.startswith("REMOVE") and node not in state.last_heartbeats:
        return "KEEP_ALIVE"
    return name


def sync(draw):
    CLOCKS.since = 0
    settings, nodes, state = draw_situation(draw)
    cache = draw.choice([0, 1, 1, 1, 5])
    backend = Backend()
    holder = pytorchs._BackendRendezvousStateHolder(backend, settings, cache)
    executor = executor_of(nodes[0], holder, settings)
    out = {"node": node_json(nodes[0]), "settings": settings_json(settings), "cache_duration": cache, "backend": None, "steps": []}
    if draw.random() < 0.7:
        backend.bits, backend.token = pickle.dumps(state), draw.choice([1, 7])
        out["backend"] = {"state": state_json(state), "token": backend.token}

    def step(what, **more):
        out["steps"].append({"do": what, **more})

    def sync_now():
        backend.call, has_set = None, []
        raises = raised_by(lambda: has_set.append(holder.sync()))
        step("sync", expect={"has_set": has_set[0] if has_set else None, "raises": raises, "call": backend.call,
                             "token": holder._token, "state": state_json(holder.state),
                             "dead": [node_json(node) for node in sorted(holder._dead_nodes)]})

    sync_now()
    for _ in range(1 + draw.randrange(5)):
        what = draw.choice(["apply", "apply", "apply", "mark_dirty", "advance", "advance", "other_writes", "other_writes",
                            "backend_loses_state", "backend_fails_next_call", "backend_holds_garbage"])
        if what == "apply":
            action = change_of(draw, nodes[0], holder.state)
            executor._state = holder.state
            getattr(executor, "_" + action.lower())()
            holder.mark_dirty()
            step(what, action=action)
        elif what == "mark_dirty":
            holder.mark_dirty()
            step(what)
        elif what == "advance":
            span = draw.choice([cache * SECOND, cache * SECOND + 1, max(cache * SECOND - 1, 0), draw.randrange(20 * SECOND)])
            CLOCKS.since += span
            step(what, seconds=seconds(span))
        elif what == "backend_loses_state":
            backend.bits = None
            step(what)
        elif what == "backend_fails_next_call":
            backend.fails = True
            step(what)
        else:
            backend.token += 1
            other = draw_state(draw, settings, nodes)
            backend.bits = pickle.dumps(other) if what == "other_writes" else b"garbage"
            step(what, token=backend.token, **({"state": state_json(other)} if what == "other_writes" else {}))
        sync_now()
    CLOCKS.since = 0
    return out


def written_by_another(draw, settings, nodes, stored, closes):
    """What another node makes of what is stored: one change in a job that goes on, or a job quite anew."""
    if stored is None or draw.random() < 0.05:
        state = draw_state(draw, settings, nodes)
        state.closed = state.closed and draw.random() < 0.3
    else:
        state = pickle.loads(stored)
    if draw.random() < 0.9:
        holder = OneAction(state)
        executor = executor_of(draw.choice(nodes[1:] or nodes), holder, settings)
        executor._state = state
        getattr(executor, "_" + change_of(draw, executor._node, state).lower())()
    state.closed = state.closed or closes
    return state


class NotedHolder(pytorchs._BackendRendezvousStateHolder):
    """Another node may write before each exchange."""

    def sync(self):
        self.before_sync()
        self.has_set = super().sync()
        return self.has_set


def run(draw):
    CLOCKS.since = 0
    settings, nodes, state = draw_situation(draw)
    operation = draw.choice(["join", "join", "join", "join", "exit", "close", "keep_alive"])
    deadline = draw.choice([2, 5, 20, 60]) * SECOND + draw.choice([0, 1, draw.randrange(SECOND)])
    backend = Backend()
    if draw.random() < 0.7:
        backend.bits, backend.token = pickle.dumps(state), 1
    holder = NotedHolder(backend, settings, 1)
    out = {"op": operation, "node": node_json(nodes[0]), "settings": settings_json(settings), "cache_duration": 1,
           "wait": seconds(WAIT), "op_deadline": seconds(deadline),
           "backend": None if backend.bits is None else {"state": state_json(state), "token": 1}, "other_writes": []}
    others_write, trace, syncs = draw.choice([0.0, 0.1, 0.3]), [], [0]

    def before_sync():
        backend.call = None
        if syncs[0] == SYNCS_MAX or draw.random() < others_write:
            other = written_by_another(draw, settings, nodes, backend.bits, syncs[0] >= SYNCS_MAX)
            backend.bits, backend.token = pickle.dumps(other), backend.token + 1
            out["other_writes"].append({"before_sync": syncs[0], "state": state_json(other), "token": backend.token})
        syncs[0] += 1

    def decided(context, until):
        turn = {"time": seconds(CLOCKS.since), "call": backend.call, "has_set": holder.has_set, "action": None}
        trace.append(turn)
        action = OPERATIONS[operation]()(context, until)
        turn["action"] = action.name
        return action

    def wait(seconds):
        CLOCKS.since += WAIT

    holder.before_sync = before_sync
    pytorchs._delay = wait
    later = (lambda span: CLOCKS.monotonic() + Fraction(span // timedelta(microseconds=1), SECOND),) if HAS_SPARES and operation == "join" else ()
    raises = raised_by(lambda: executor_of(nodes[0], holder, settings).run(decided, monotonic(deadline), *later))
    out["expect"] = {"trace": trace, "raises": raises, "token": holder._token, "state": state_json(holder.state)}
    CLOCKS.since = 0
    return out


KINDS = [decide] * 10 + [apply] * 4 + [sanitize] * 2 + [sync] * 2 + [run] * 2


def main(seed, count, path):
    draw = random.Random(seed)
    with open(path, "w") as out:
        for number in range(count):
            kind = KINDS[number % len(KINDS)]
            case = {"id": f"{kind.__name__}-{number}", "kind": kind.__name__, **kind(draw)}
            out.write(json.dumps(case) + "\n")


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
