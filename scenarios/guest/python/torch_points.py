"""Places of torchrun at which a fault may strike, under the names that they have in hooke's agents."""
import functools

import hooke_channel as hooke


def reach(point):
    if hooke.ON:
        hooke.call('fault_point', point)


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


def set_points():
    from torch.distributed.elastic.agent.server.api import SimpleElasticAgent
    from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
    from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler
    before(DynamicRendezvousHandler, 'next_rendezvous', 'rendezvous.joining')
    before(DynamicRendezvousHandler, '_start_heartbeats', 'rendezvous.joined')
    after(DynamicRendezvousHandler, 'next_rendezvous', 'agent.joined')
    before(DynamicRendezvousHandler, 'shutdown', 'rendezvous.closing')
    after(SimpleElasticAgent, '_rendezvous', 'agent.ranks_assigned')
    after(LocalElasticAgent, '_start_workers', 'agent.workers_started')
    before(LocalElasticAgent, '_shutdown', 'agent.stopping')
    before(SimpleElasticAgent, '_exit_barrier', 'agent.exit_barrier')
