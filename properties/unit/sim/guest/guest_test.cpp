// What a Python guest sees of its world, and what the world sees of it.
#include "properties/unit/sim/guest/test_guest.h"

namespace hooke::guest {
namespace {

using Lines = std::vector<std::string>;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(Guest, sees_the_clocks_of_its_node) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(R"(
import time, datetime
before = time.monotonic()
time.sleep(2.5)
print(time.monotonic() - before, time.time(), time.time_ns())
print(datetime.datetime.now(datetime.timezone.utc).isoformat(), datetime.date.today())
print(time.strftime('%H:%M:%S', time.gmtime()))
)");
  EXPECT_EQ(world.lines(), (Lines{"2.5 1800000002.5 1800000002500000000",
                                  "2027-01-15T08:00:02.500000+00:00 2027-01-15", "08:00:02"}));
  EXPECT_EQ(world.code(), 0);
}

TEST(Guest, has_threads_that_take_turns) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(R"(
import threading, time, queue, concurrent.futures
lock, condition, inbox = threading.Lock(), threading.Condition(), queue.Queue()
def work(name, span):
    time.sleep(span)
    with lock:
        print(name, 'in at', time.monotonic() - 1000)
        time.sleep(1)
    inbox.put(name)
threads = [threading.Thread(target=work, args=(n, 0.25 * i), name=n) for i, n in enumerate('xyz')]
for thread in threads: thread.start()
print([inbox.get() for _ in threads], time.monotonic() - 1000)
for thread in threads: thread.join()
event = threading.Event()
threading.Timer(0.5, event.set).start()
print(event.wait(0.25), event.wait(5), time.monotonic() - 1000)
print(lock.acquire(), lock.acquire(timeout=0.5), time.monotonic() - 1000)
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda n: (time.sleep(n), n)[1], [2, 1, 1])), time.monotonic() - 1000)
)");
  EXPECT_EQ(world.lines(),
            (Lines{"x in at 0.0", "y in at 1.0", "z in at 2.0", "['x', 'y', 'z'] 3.0",
                   "False True 3.5", "True False 4.0", "[2, 1, 1] 6.0"}));
}

TEST(Guest, starts_waits_for_and_signals_children) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(R"(
import subprocess, signal, time, os
first = subprocess.Popen(['child'], env={'A': 'b'}, start_new_session=True)
print(first.poll(), os.getpid() < first.pid)
try:
    first.wait(1)
except subprocess.TimeoutExpired:
    print('waits', time.monotonic() - 1000)
print(first.wait(), time.monotonic() - 1000)
second = subprocess.Popen(['child'], start_new_session=True)
os.killpg(second.pid, signal.SIGTERM)
time.sleep(0.1)
print(second.poll())
try:
    os.kill(second.pid, 0)
except ProcessLookupError:
    print('is gone')
try:
    subprocess.Popen(['nobody'])
except FileNotFoundError as error:
    print(error.filename)
)");
  const Lines& said = world.lines();
  const std::string first = std::to_string(world.pid.value + 1);
  const std::string second = std::to_string(world.pid.value + 2);
  EXPECT_EQ(said, (Lines{"spawned " + first + " child", "None True", "waits 1.0",
                         "reaped " + first + " 7", "7 5.0", "spawned " + second + " child",
                         "signalled " + second + " SIGTERM group", "reaped " + second + " -15",
                         "-15", "is gone", "nobody"}));
}

/// With a time-out CPython looks for the child's end after pauses of 1, 2, 4, … and then 50 ms.
TEST(Guest, learns_of_a_child_when_python_looks_for_it) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(R"(
import subprocess, time
child = subprocess.Popen(['child'], start_new_session=True)
print(child.wait(10), round(time.monotonic() - 1000, 6))
)");
  EXPECT_EQ(world.lines().back(), "7 5.013");
}

/// A line is there with its end, or when no process writes any more.
TEST(Guest, reads_a_fifo_of_its_machine) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(R"(
import subprocess, time
import hooke_files as files
system = files.System()
system.mkfifo('/pipes/one')
try:
    system.mkfifo('/pipes/one')
except FileExistsError:
    print('taken', system.path.exists('/pipes/one'))
writer = subprocess.Popen(['writer'], start_new_session=True)
with files.open_fifo('/pipes/one') as reader:
    for _ in range(4):
        print(repr(reader.readline()), time.monotonic() - 1000)
system.remove('/pipes/one')
print(system.path.exists('/pipes/one'), system.path.join('a', 'b'))
try:
    system.remove('/pipes/one')
except FileNotFoundError:
    print('gone')
)");
  world.test.world->register_program("writer", [](sim::Ports& ports) {
    const auto later = [&] {
      ports.executor.sleep_until(ports.clock.monotonic_now() + std::chrono::seconds(1));
    };
    later();
    const auto fifo = ports.files.open_fifo_writer("/pipes/one");
    static_cast<void>(fifo.value()->write("first\nsec"));
    later();
    static_cast<void>(fifo.value()->write("ond\nrest"));
    return 0;
  });
  const Lines& said = world.lines();
  const Lines read(said.begin() + 2, said.end());
  EXPECT_EQ(said.front(), "taken True");
  EXPECT_EQ(read, (Lines{"'first\\n' 1.0", "'second\\n' 2.0", "'rest' 2.0", "'' 2.0", "False a/b",
                         "gone"}));
}

/// Those of modules that are given them; the disk fills up at 2 s and is silent from 5 s to 8 s.
TEST(Guest, has_files_on_the_disk_of_its_machine) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(R"(
import os, time, types
import hooke_files as files
module = types.SimpleNamespace(os=os, tempfile=None, shutil=None)
files.give_files_to(module)
path = module.tempfile.mkdtemp(prefix='logs_')
print(path.startswith('/tmp/logs_'), os.path.exists(path), module.os.path.isdir(path))
note = module.os.path.join(path, 'note')
with module.open(note, 'w') as file:
    file.write('one\ntwo\n')
with module.open(note) as file:
    print(file.readlines(), module.os.path.isfile(note), module.os.listdir(path))
time.sleep(3)
def failing(act):
    try:
        act()
        print('nothing')
    except OSError as error:
        print(type(error).__name__, error.errno)
def write():
    with module.open(note, 'w') as file:
        file.write('three')
failing(write)
failing(lambda: module.os.makedirs(path + '/a/b'))
failing(lambda: module.os.makedirs(path, exist_ok=True))
failing(lambda: module.os.makedirs(path))
failing(lambda: module.open(path + '/none'))
time.sleep(3)
module.open(note).close()
print(time.monotonic() - 1000)
module.shutil.rmtree(path)
print(module.os.path.exists(note), module.os.path.exists(path))
)");
  static_cast<void>(
      world.test.inject_at(seconds(2), world::FaultKind::disk_full,
                           [&world](world::Fault& fault) { fault.node = world.node; }));
  static_cast<void>(
      world.test.inject_at(seconds(5), world::FaultKind::disk_stall, [&world](world::Fault& fault) {
        fault.node = world.node;
        fault.duration = seconds(3);
      }));
  EXPECT_EQ(world.lines(), (Lines{"True False True", "['one\\n', 'two\\n'] True ['note']",
                                  "OSError 28", "OSError 28", "nothing", "FileExistsError 17",
                                  "FileNotFoundError 2", "8.0", "False False"}));
}

/// As by an exception that no code handles: what it holds is let go, and it can be waited for.
TEST(Guest, loses_a_thread_whose_fiber_dies) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(R"(
import threading, time
lock, stop = threading.Lock(), threading.Event()
def work():
    with lock:
        try:
            stop.wait(100)
        except Exception:
            print('never')
    print('nor here')
thread = threading.Thread(target=work, name='worker')
thread.start()
time.sleep(1)
print(lock.locked(), thread.is_alive())
lock.acquire()
print(time.monotonic() - 1000)
thread.join()
print(thread.is_alive(), time.monotonic() - 1000)
again = threading.Thread(target=lambda: print('anew'))
again.start()
again.join()
)");
  static_cast<void>(
      world.test.inject_at(seconds(2), world::FaultKind::fiber_dies, [&world](world::Fault& fault) {
        fault.node = world.node;
        fault.pid = world.pid;
        fault.text = "python worker";
      }));
  EXPECT_EQ(world.lines(), (Lines{"True True", "2.0", "False 2.0", "anew"}));
  EXPECT_EQ(world.code(), 0);
}

TEST(Guest, handles_signals_where_python_would) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(R"(
import signal, time
class Stop(Exception): pass
def handler(number, frame):
    print('handles', number, time.monotonic() - 1000)
    if number == signal.SIGTERM: raise Stop()
for each in (signal.SIGTERM, signal.SIGUSR1): signal.signal(each, handler)
try:
    time.sleep(10)
except Stop:
    print('stopped', time.monotonic() - 1000)
time.sleep(1)
)");
  for (const auto& [when, signal] : {std::pair{1, sim::Signal::usr1}, {2, sim::Signal::term}}) {
    static_cast<void>(world.test.inject_at(seconds(when), world::FaultKind::process_signal,
                                           [&world, signal = signal](world::Fault& fault) {
                                             fault.node = world.node;
                                             fault.pid = world.pid;
                                             fault.signal = signal;
                                           }));
  }
  EXPECT_EQ(world.lines(), (Lines{"signal SIGUSR1", "handles 10 1.0", "signal SIGTERM",
                                  "handles 15 2.0", "stopped 2.0"}));
  EXPECT_EQ(world.test.now(), seconds(3));
}

TEST(Guest, ends_as_an_interpreter_does) {
  HOOKE_NEEDS_PYTHON();
  for (const auto& [program, code] : {std::pair{"import sys; sys.exit(3)", 3},
                                      {"import sys; sys.exit()", 0},
                                      {"raise ValueError('x')", 1},
                                      {"raise KeyboardInterrupt", 130},
                                      {"pass", 0}}) {
    GuestWorld world(program);
    static_cast<void>(world.lines());
    EXPECT_EQ(world.code(), code) << program;
  }
}

TEST(Guest, knows_its_node_by_name_and_finds_free_ports) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(R"(
import socket, os
print(socket.gethostname(), socket.getfqdn(), socket.getaddrinfo('a', 80)[0][4][1])
try:
    socket.getaddrinfo('nowhere', None)
except socket.gaierror: print('unknown')
with socket.socket() as s:
    s.bind(('', 0)); s.listen(0); print(s.getsockname()[1] > 1024)
)");
  EXPECT_EQ(world.lines(), (Lines{"a a 80", "unknown", "True"}));
}

TEST(Guest, handles_its_own_signal_before_it_goes_on) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(R"(
import os, signal
signal.signal(signal.SIGUSR1, lambda *_: print('handled'))
os.kill(os.getpid(), signal.SIGUSR1)
print('goes on')
)");
  EXPECT_EQ(world.lines(),
            (Lines{"signalled 100 SIGUSR1", "signal SIGUSR1", "handled", "goes on"}));
}

TEST(Guest, draws_what_its_world_draws) {
  HOOKE_NEEDS_PYTHON();
  const std::string program =
      "import random, uuid, os, tempfile, secrets\n"
      "print(random.random(), uuid.uuid4(), os.urandom(4).hex(), random.Random().random())\n"
      "print(secrets.token_hex(4), tempfile.mkdtemp())\n";
  const Lines first = GuestWorld(program).lines();
  EXPECT_EQ(first.size(), 2U);
  EXPECT_EQ(GuestWorld(program).lines(), first);
}

TEST(Guest, dies_with_its_process) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world("import time\ntime.sleep(1)\nprint('one')\ntime.sleep(10)\nprint('two')\n");
  static_cast<void>(world.test.inject_at(seconds(3), world::FaultKind::node_crash,
                                         [&](world::Fault& fault) { fault.node = world.node; }));
  EXPECT_EQ(world.lines(), Lines{"one"});
  EXPECT_EQ(world.code(), -9);
}

TEST(Guest, stands_still_with_its_process) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(
      "import time\nfor i in range(4):\n    time.sleep(1); print(i, time.monotonic() - 1000)\n");
  static_cast<void>(world.test.inject_at(milliseconds(1500), world::FaultKind::process_pause,
                                         [&](world::Fault& fault) {
                                           fault.node = world.node;
                                           fault.pid = world.pid;
                                           fault.duration = seconds(10);
                                         }));
  EXPECT_EQ(world.lines(), (Lines{"0 1.0", "1 11.5", "2 12.5", "3 13.5"}));
}

TEST(Guest, has_little_memory_of_its_own_however_many_were_forked_before_it) {
  HOOKE_NEEDS_PYTHON();
  for (int i = 0; i < 12; ++i) {  // the interpreter joins its pages between two of them
    GuestWorld world(R"(
with open('/proc/self/smaps_rollup') as file:
    kib = sum(int(line.split()[1]) for line in file if line.startswith('Private_'))
print('little' if kib < 4096 else '%d KiB' % kib)
)");
    EXPECT_EQ(world.lines(), Lines{"little"}) << "guest " << i;
  }
}

TEST(Guest, repeats_itself) {
  HOOKE_NEEDS_PYTHON();
  const std::string program =
      "import threading, time, random\n"
      "def work(n):\n"
      "    for _ in range(20): time.sleep(random.random()); print(n, time.monotonic() - 1000)\n"
      "for n in range(5): threading.Thread(target=work, args=(n,)).start()\n";
  Lines first;
  for (int run = 0; run < 20; ++run) {
    GuestWorld world(program);
    const Lines said = world.lines();
    if (run == 0) first = said;
    ASSERT_EQ(said.size(), 100U);
    ASSERT_EQ(said, first) << "run " << run;
  }
}

}  // namespace
}  // namespace hooke::guest
