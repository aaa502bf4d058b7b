"""Places of torchrun at which a fault may strike, under the names that they have in hooke's agents."""
import builtins
import functools

import hooke_channel as hooke


def reach(point):
    error = due_at(point)
    if error is not None:
        raise error


def due_at(point):
    """The error that a fault has the agent raise there; None: none."""
    name = hooke.call('fault_point', point) if hooke.ON else ''
    return error_of(name)('raised at a fault point') if name else None


def error_of(name):
    """The class that is so called."""
    import torch_store                     # here: only guests have such a store
    from torch.distributed.elastic.rendezvous import api
    if name in torch_store.ERRORS:
        return torch_store.ERRORS[name]
    found = getattr(api, name, getattr(builtins, name, None))
    if found is None:
        hooke.fail('has no error that is called %s: this release of PyTorch is older than it' % name)
    return found


def before(owner, name, point):
    method = getattr(owner, name)

    @functools.wraps(method)
    def reached(*arguments, **keywords):
        reach(point)
        return method(*arguments, **keywords)
    setattr(owner, name, reached)


def after(owner, name, point):
    method = getattr(owner, name)

    @functools.wraps(method)
    def reached(*arguments, **keywords):
        out = method(*arguments, **keywords)
        reach(point)
        return out
    setattr(owner, name, reached)


def inside(owner, name, inner, point):
    """Reached when the method calls `inner`, where it handles what it meets."""
    method, call, begun = getattr(owner, name), getattr(owner, inner), []

    @functools.wraps(method)
    def reached(*arguments, **keywords):
        begun[:] = [point]
        return method(*arguments, **keywords)

    @functools.wraps(call)
    def called(*arguments, **keywords):
        if begun:
            reach(begun.pop())
        return call(*arguments, **keywords)
    setattr(owner, name, reached)
    setattr(owner, inner, called)


def within(owner, name, inner, point):
    """Reached before the method; but an error is raised when that calls `inner`."""
    method, call, due = getattr(owner, name), getattr(owner, inner), []

    @functools.wraps(method)
    def reached(*arguments, **keywords):
        due[:] = [due_at(point)]
        return method(*arguments, **keywords)

    @functools.wraps(call)
    def called(*arguments, **keywords):
        error = due.pop() if due else None
        if error is not None:
            raise error
        return call(*arguments, **keywords)
    setattr(owner, name, reached)
    setattr(owner, inner, called)


def before_barrier(owner, name, point):
    """An error of the barrier is logged and no more; one before it is likewise, and no agent has come to it then."""
    wait = getattr(owner, name)

    @functools.wraps(wait)
    def reached(self):
        error = due_at(point)
        return wait(self) if error is None else None
    setattr(owner, name, reached)


def set_points():
    from torch.distributed.elastic.agent.server.api import SimpleElasticAgent
    from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
    from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler
    inside(DynamicRendezvousHandler, 'next_rendezvous', '_stop_heartbeats', 'rendezvous.joining')
    before(DynamicRendezvousHandler, '_start_heartbeats', 'rendezvous.joined')
    after(DynamicRendezvousHandler, 'next_rendezvous', 'agent.joined')
    within(DynamicRendezvousHandler, 'shutdown', '_close', 'rendezvous.closing')
    after(SimpleElasticAgent, '_rendezvous', 'agent.ranks_assigned')
    after(LocalElasticAgent, '_start_workers', 'agent.workers_started')
    before(LocalElasticAgent, '_shutdown', 'agent.stopping')
    before_barrier(SimpleElasticAgent, '_exit_barrier', 'agent.exit_barrier')
