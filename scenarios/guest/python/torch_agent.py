"""PyTorch's agent as a guest: torch.distributed.run, of which not a line is changed."""
import importlib
import sys

import hooke_channel as hooke
import hooke_files
import hooke_zygote
import torch_points


def prepare():
    """Imports everything, what torch imports late included: each agent would do it by itself."""
    import torch
    import torch.distributed.run           # after torch_store: the elastic modules take its names
    for late in ('torch._dynamo.config', 'torch.distributed.launcher.api', 'runpy', 'traceback', 'pickle'):
        try:
            importlib.import_module(late)
        except ImportError:
            pass
    read_streams()
    tell_joins()
    spread_first_joins()
    look_for_no_sources()
    ask_for_states()
    tell_failures()
    tell_failed_joins()
    tell_failed_barriers()
    tell_signals()
    serve_timers()
    keep_files()
    tell_ranks()
    torch_points.set_points()
    return str(torch.__version__)


def read_streams():
    """1.13 is older than Python 3.11, where an enumeration of flags leaves out its member 0: --redirects=0 is then
    unknown to it. Repaired as on a real machine."""
    from torch.distributed.elastic.multiprocessing.api import Std
    if sys.version_info >= (3, 11) and Std.from_str('0') is None:
        parse = Std.from_str
        Std.from_str = lambda text: Std(int(text)) if text in ('0', '1', '2', '3') else parse(text)


def tell_joins():
    """1.13 writes the lines of a join to a logger for which no variable sets the level."""
    import logging
    from torch.distributed.elastic.rendezvous import dynamic_rendezvous
    log = logging.getLogger(dynamic_rendezvous.__name__)
    if not log.isEnabledFor(logging.INFO):
        log.setLevel(logging.INFO)
    if not log.hasHandlers():
        log.addHandler(logging.StreamHandler())
        log.propagate = False              # the root's handler comes with the first line of any other logger


def spread_first_joins():
    """The one draw that the protocol makes comes from hooke's stream for it."""
    import random
    uniform = random.uniform
    random.uniform = lambda a, b: (
        hooke.call('jitter', round(a * 1e9), round(b * 1e9)) / 1e9 if hooke.ON else uniform(a, b))


def look_for_no_sources():
    """For speed alone: torch asks the stack for the names of functions, and uses nothing else of it. Python looks
    through all modules for the source of each frame meanwhile, 0.2 s each time."""
    import inspect

    def stack(context=1):
        out, frame = [], sys._getframe(1)
        while frame:
            out.append(inspect.FrameInfo(frame, frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name,
                                         None, None))
            frame = frame.f_back
        return out
    inspect.stack = stack


def ask_for_states():
    """What /proc says of a worker is said by the simulated machine."""
    from torch.distributed.elastic.agent.server import local_elastic_agent
    if hasattr(local_elastic_agent, 'read_proc_state'):
        local_elastic_agent.read_proc_state = lambda pid: hooke.call('state', pid)


def tell_failures():
    """For the trace: whose failure torchrun names, when it does, which is before it closes the rendezvous."""
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    made = ChildFailedError.__init__

    def told(self, *arguments, **keywords):
        made(self, *arguments, **keywords)
        if hooke.ON:
            rank, failure = self.get_first_failure()
            hooke.NOTES.append(('agent.failure', rank, failure.pid, failure.exitcode))
    ChildFailedError.__init__ = told


def tell_failed_joins():
    """For the trace: with which exception a join has failed, before torchrun closes the rendezvous for it."""
    from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler
    join = DynamicRendezvousHandler.next_rendezvous

    def told(self):
        try:
            return join(self)
        except BaseException as error:
            kind = 'SignalException' if signal_of(error) else type(error).__name__
            hooke.NOTES.append(('agent.join_failed', kind, str(error).split('\n')[0]))
            raise
    DynamicRendezvousHandler.next_rendezvous = told


def tell_failed_barriers():
    """For the trace: with which exception the exit barrier has failed, before torchrun's line, which is the same for
    all of them."""
    from torch.distributed.elastic.utils import store as elastic_store
    barrier = elastic_store.barrier

    def told(*arguments, **keywords):
        try:
            return barrier(*arguments, **keywords)
        except Exception as error:
            hooke.NOTES.append(('agent.barrier_failed', type(error).__name__))
            raise
    elastic_store.barrier = told


def tell_signals():
    """For the trace: which signal has ended the agent, before torchrun closes the rendezvous for it."""
    from torch.distributed.elastic.agent.server.api import SimpleElasticAgent
    run = SimpleElasticAgent.run

    def told(self, *arguments, **keywords):
        try:
            return run(self, *arguments, **keywords)
        except BaseException as error:
            tell_signal(error)
            raise
    SimpleElasticAgent.run = told


def signal_of(error):
    return int(getattr(error, 'sigval', 2 if isinstance(error, KeyboardInterrupt) else 0))


def tell_signal(error):
    """Once of each: the exception is marked, for a reference to it would keep what its frames have."""
    if signal_of(error) and not hasattr(error, 'told'):
        error.told = True
        hooke.NOTES.append(('agent.signalled', signal_of(error), type(error).__name__))


def tell_ranks():
    """For the trace: the ranks of its workers, when the agent knows them, which is before it starts one."""
    from torch.distributed.elastic.agent.server.api import SimpleElasticAgent
    rendezvous = SimpleElasticAgent._rendezvous

    def told(self, worker_group):
        rendezvous(self, worker_group)
        if hooke.ON:
            first = worker_group.workers[0]
            hooke.NOTES.append(('agent.ranks', first.global_rank - first.local_rank, first.world_size))
    SimpleElasticAgent._rendezvous = told


def serve_timers():
    """The named pipe of the timer server is the simulated machine's. For the trace: what the server tells its agent."""
    from torch.distributed.elastic.timer import file_based_local_timer as timers
    hooke_files.give_fifos_to(timers)
    made = timers.FileTimerServer.__init__
    if 'log_event' not in made.__code__.co_varnames:
        return

    def told(self, file_path, *arguments, log_event=None, **keywords):
        def tell(name, timer):
            if hooke.ON:
                hooke.NOTES.append(('agent.timer', name, file_path) + ((
                    timer.worker_pid, timer.scope_id, round(timer.expiration_time * 1e6), int(timer.signal)
                ) if timer else (0, '', 0, 0)))
            if log_event is not None:
                log_event(name, timer)
        made(self, file_path, *arguments, log_event=tell, **keywords)
    timers.FileTimerServer.__init__ = told


def keep_files():
    """The agent's directories for logs, and the error files, are on the simulated machine's disk."""
    for name in ('multiprocessing', 'multiprocessing.api', 'multiprocessing.errors',
                 'multiprocessing.errors.error_handler', 'agent.server.local_elastic_agent'):
        hooke_files.give_files_to(importlib.import_module('torch.distributed.elastic.' + name))


def wait_in_the_exit_barrier(nanoseconds):
    """torchrun takes the agent's default, for which it has no flag: the constructor's, in this process alone."""
    from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
    made = LocalElasticAgent.__init__
    names = made.__code__.co_varnames[:made.__code__.co_argcount]
    defaults = list(made.__defaults__)
    whole, rest = divmod(nanoseconds, 1_000_000_000)
    defaults[names.index('exit_barrier_timeout') - len(names)] = nanoseconds / 1e9 if rest else whole
    made.__defaults__ = tuple(defaults)


def main(config):
    arguments, exit_barrier = config
    wait_in_the_exit_barrier(exit_barrier)
    sys.argv = ['torchrun'] + list(arguments)
    from torch.distributed.run import main as torchrun
    try:
        torch_points.reach('agent.started')
        torchrun(list(arguments))
    except BaseException as error:
        tell_end(error)
        raise
    tell_end(None)


def said_by(error):
    """In a line: of failed workers the first one's error, as the first lines of the text are a frame for it."""
    if type(error).__name__ != 'ChildFailedError':
        return str(error).split('\n')[0]
    rank, failure = error.get_first_failure()
    message = failure.message
    return 'rank %d: %s' % (rank, message.get('message', '<N/A>') if isinstance(message, dict) else message)


def tell_end(error):
    """For the trace: with which exception torchrun has ended."""
    tell_signal(error)
    kind, text = ('', '') if error is None else (type(error).__name__, said_by(error))
    # The stores that went with torchrun's last frame go at the same instant: they are told after the end.
    closed = [note for note in hooke.NOTES if note[0] == 'store.close']
    hooke.NOTES[:] = [note for note in hooke.NOTES if note[0] != 'store.close']
    hooke.NOTES.append(('agent.ended', kind, text, signal_of(error), hooke_zygote.exit_code(error)))
    hooke.NOTES.extend(closed)
