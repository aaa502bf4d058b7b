"""Real torchrun agents on this machine that are told to go at given places of their lives.

usage: guest_signals.py DIRECTORY POINTS INSTANTS

POINTS is the folder with torch_points.py, which knows where the places are. INSTANTS is a JSON list; each has the place
`point`, how many seconds `after` it the signal `signal` comes, how many `nodes` the job has, whether the other one is
there (`peer`), and whether it comes `again`: its worker heeds no SIGTERM, and one came a second earlier.
An agent is a fork of this interpreter, which has imported PyTorch: nothing of it is replaced. Writes into ends.json, for
each instant in order, how the agent has ended (minus the number of the signal that killed it), the signals that its
worker noticed, and whether the worker outlived it.
"""
import json
import os
import resource
import select
import signal
import socket
import sys
import time
import types

directory, points, instants = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.path.insert(0, points)
sys.modules['hooke_channel'] = types.ModuleType('hooke_channel')   # for torch_points, which asks it
import hooke_channel
import torch.distributed.run
import torch.distributed.launcher.api
import torch_points

hooke_channel.ON = False
torch_points.set_points()

NOTED = ('TERM', 'INT', 'HUP', 'QUIT')
# Notes each signal and ends by it, but for a SIGTERM if it is deaf; notes its number when it is ready for them.
WORKER = """for s in %s; do trap "echo $s >>'$1'; [ $s$3 = TERMdeaf ] || exit 1" $s; done
echo pid $$ >>"$1"
i=0
while [ $i -lt $2 ]; do sleep 0.1; i=$((i+1)); done
""" % ' '.join(NOTED)
LIFE, PEERS_LIFE = 4, 12      # seconds
AT_ONCE = 14                  # jobs
# Python's end takes threads away that are inside PyTorch's C++, and the C++ runtime may abort the process for it. That
# says nothing about the signal: such an agent is started again, so many times at most.
CRASHES, ATTEMPTS = (-signal.SIGABRT, -signal.SIGSEGV), 4


def free_port():
    with socket.socket() as probe:
        probe.bind(('localhost', 0))
        return probe.getsockname()[1]


class Agent:
    """A torchrun that tells, by a byte, that it is at `point`, or sends itself the signal there when it is to come at
    once. In the new process the constructor ends with the agent."""

    def __init__(self, name, port, host, instant, point, seconds):
        self.notes = os.path.join(directory, name + '.worker')
        self.reached, telling = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(telling)
            return
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        log = os.open(os.path.join(directory, name + '.log'), os.O_WRONLY | os.O_CREAT, 0o644)
        os.dup2(log, 1), os.dup2(log, 2)

        def reach(_, there):
            if there != point:
                return
            while there == 'agent.workers_started' and not self.noted():
                time.sleep(0.01)
            if instant['after'] == 0:
                os.kill(os.getpid(), instant['signal'])
            else:
                os.write(telling, b'x')
        hooke_channel.ON, hooke_channel.call = True, reach
        nodes = instant['nodes']
        arguments = ['--nnodes=%d:%d' % (nodes, nodes), '--nproc_per_node=1', '--max_restarts=3',
                     '--rdzv_backend=c10d', '--rdzv_endpoint=localhost:%d' % port, '--rdzv_id=job',
                     '--rdzv_conf=last_call_timeout=1,is_host=%d' % host, '--shutdown_timeout=5', '--no_python',
                     '/bin/sh', script, self.notes, str(seconds * 10), 'deaf' if instant['again'] else '']
        sys.argv = ['torchrun'] + arguments
        torch_points.reach('agent.started')
        torch.distributed.run.main(arguments)
        sys.exit(0)

    def noted(self):
        if not os.path.exists(self.notes):
            return []
        with open(self.notes) as file:
            return file.read().split('\n')[:-1]

    def workers(self):
        """Those that have not ended."""
        numbers = [int(line.split()[1]) for line in self.noted() if line.startswith('pid ')]
        return [pid for pid in numbers if os.path.exists('/proc/%d' % pid)]


class Job:
    def __init__(self, number, instant):
        self.instant, self.end, self.due = instant, None, []
        name, port = 'agent%d' % number, free_port()
        self.agent = Agent(name, port, 1, instant, instant['point'], LIFE)
        self.peer = Agent(name + '.peer', port, 0, instant, None, PEERS_LIFE) if instant['peer'] else None

    def look(self):
        """Sends what is due, and takes note of the end."""
        now = time.monotonic()
        if self.end is None and select.select([self.agent.reached], [], [], 0)[0] and os.read(self.agent.reached, 1):
            at = now + self.instant['after']
            self.due = ([(at - 1, signal.SIGTERM)] if self.instant['again'] else []) + [(at, self.instant['signal'])]
        while self.due and self.due[0][0] <= now:
            os.kill(self.agent.pid, self.due.pop(0)[1])
        ended, status = os.waitpid(self.agent.pid, os.WNOHANG)
        if ended:
            self.end = os.waitstatus_to_exitcode(status)
            self.left = len(self.agent.workers())

    def over(self):
        for agent in filter(None, (self.agent, self.peer)):
            for pid in agent.workers() + ([agent.pid] if agent is self.peer else []):
                os.kill(pid, signal.SIGKILL)
        if self.peer:
            os.waitpid(self.peer.pid, 0)
        got = [line for line in self.agent.noted() if line in NOTED]
        return {'end': self.end, 'got': ['SIG' + name for name in got], 'left': self.left}


script = os.path.join(directory, 'worker.sh')
with open(script, 'w') as file:
    file.write(WORKER)
ends, left = [None] * len(instants), list(range(len(instants)))
for attempt in range(ATTEMPTS):
    for first in range(0, len(left), AT_ONCE):
        jobs = {i: Job(attempt * len(instants) + i, instants[i]) for i in left[first:first + AT_ONCE]}
        while any(job.end is None for job in jobs.values()):
            for job in jobs.values():
                if job.end is None:
                    job.look()
            time.sleep(0.02)
        for i, job in jobs.items():
            ends[i] = job.over()
    left = [i for i in left if ends[i]['end'] in CRASHES]
    for i in left:
        print('crashed: instant %d, %s, by signal %d' % (i, instants[i]['point'], -ends[i]['end']), flush=True)
with open(os.path.join(directory, 'ends.json'), 'w') as file:
    json.dump(ends, file)
