// What a guest must not do ends the run and says which guest did it, where.
#include "properties/unit/sim/guest/test_guest.h"

namespace hooke::guest {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Escape {
  const char* name;
  const char* program;
  const char* said;
};

class Escapes : public ::testing::TestWithParam<Escape> {};

TEST_P(Escapes, end_the_run) {
  HOOKE_NEEDS_PYTHON();
  const Escape& escape = GetParam();
  const std::string failure = GuestWorld(std::string("def culprit():\n    ") + escape.program +
                                         "\ntry:\n    culprit()\nexcept BaseException: pass\n")
                                  .failure();
  EXPECT_THAT(failure, AllOf(HasSubstr("thread \"MainThread\" of the guest on a"),
                             HasSubstr(escape.said), HasSubstr("in culprit")));
}

INSTANTIATE_TEST_SUITE_P(
    All, Escapes,
    ::testing::Values(
        Escape{"clock", "import time; time.process_time()", "time.process_time"},
        Escape{"processor_clock", "import time; time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)",
               "reads the real clock"},
        Escape{"times", "import os; os.times()", "os.times"},
        Escape{"select", "import select; select.select([], [], [], 1)", "select.select"},
        Escape{"poll", "import select; select.poll()", "select.poll"},
        Escape{"alarm", "import signal; signal.alarm(1)", "signal.alarm"},
        Escape{"socket", "import _socket; _socket.socket()", "socket.__new__"},
        Escape{"resolver", "import _socket; _socket.getaddrinfo('a', 1)", "socket.getaddrinfo"},
        Escape{"connection", "import socket; socket.socket().connect(('a', 1))", "socket.connect"},
        Escape{"fork", "import posix; posix.fork()", "os.fork"},
        Escape{"shell", "import os; os.system('true')", "os.system"},
        Escape{"spawn", "import os; os.posix_spawn('/bin/true', ['true'], {})", "os.posix_spawn"},
        Escape{"wait", "import os; os.waitpid(-1, 0)", "os.waitpid"},
        Escape{"signal", "import posix; posix.kill(1, 0)", "os.kill"},
        Escape{"pipe", "import subprocess; subprocess.Popen(['child'], stdout=subprocess.PIPE)",
               "streams"},
        Escape{"file_lock", "import fcntl; fcntl.flock(1, fcntl.LOCK_EX)", "fcntl.flock"}),
    [](const auto& one) { return one.param.name; });

TEST(Guards, a_guest_that_is_silent_shows_its_stacks) {
  HOOKE_NEEDS_PYTHON();
  const std::string failure =
      GuestWorld(
          "import threading\n"
          "def spins_for_ever():\n"
          "    while True: pass\n"
          "threading.Thread(target=spins_for_ever, name='spinner').start()\n",
          milliseconds(500))
          .failure();
  EXPECT_THAT(failure, AllOf(HasSubstr("thread \"spinner\" of the guest on a has made no request"),
                             HasSubstr("spins_for_ever")));
}

/// A lock that was made before the replacements waits outside of the world.
TEST(Guards, a_real_lock_that_is_waited_for_shows_its_stacks) {
  HOOKE_NEEDS_PYTHON();
  const std::string failure = GuestWorld(
                                  "import hooke_threads\n"
                                  "def waits_for_ever():\n"
                                  "    lock = hooke_threads.REAL['allocate_lock']()\n"
                                  "    lock.acquire(); lock.acquire()\n"
                                  "waits_for_ever()\n",
                                  milliseconds(500))
                                  .failure();
  EXPECT_THAT(failure, AllOf(HasSubstr("thread \"MainThread\""), HasSubstr("waits_for_ever")));
}

/// So does a sleep in C, which Python's own time.sleep is.
TEST(Guards, a_real_sleep_is_noticed) {
  HOOKE_NEEDS_PYTHON();
  const std::string failure = GuestWorld(
                                  "import hooke_clocks\n"
                                  "def sleeps(): hooke_clocks.REAL['sleep'](60)\n"
                                  "sleeps()\n",
                                  milliseconds(500))
                                  .failure();
  EXPECT_THAT(failure, AllOf(HasSubstr("thread \"MainThread\""), HasSubstr("sleeps")));
}

TEST(Guards, a_guest_that_falls_says_how) {
  HOOKE_NEEDS_PYTHON();
  const std::string failure =
      GuestWorld("import ctypes\ndef falls(): ctypes.string_at(0)\nfalls()\n").failure();
  EXPECT_THAT(failure, AllOf(HasSubstr("the guest on a fell in thread \"MainThread\""),
                             HasSubstr("Segmentation fault"), HasSubstr("in falls")));
}

TEST(Guards, threads_beyond_the_slots_are_told) {
  HOOKE_NEEDS_PYTHON();
  const std::string failure = GuestWorld(
                                  "import threading, time\n"
                                  "for _ in range(40):\n"
                                  "    threading.Thread(target=time.sleep, args=(9,)).start()\n")
                                  .failure();
  EXPECT_THAT(failure, HasSubstr("starts more threads than hooke has slots for, which are 32"));
}

TEST(Guards, numbers_that_a_machine_does_not_have_are_told) {
  HOOKE_NEEDS_PYTHON();
  const auto failure = [](const std::string& call) {
    return GuestWorld("import hooke_channel\nhooke_channel.call(" + call + ")\n").failure();
  };
  EXPECT_THAT(failure("'listen', 65536"),
              HasSubstr("the guest sent 65536, expected a number from 0 to 65535"));
  EXPECT_THAT(failure("'kill', 1 << 31, 0"), HasSubstr("the guest sent 2147483648, expected"));
}

/// A thread that has ended gives its slot back.
TEST(Guards, threads_one_after_the_other_are_not_counted) {
  HOOKE_NEEDS_PYTHON();
  GuestWorld world(
      "import threading, time\n"
      "for _ in range(100):\n"
      "    t = threading.Thread(target=time.sleep, args=(1,)); t.start(); t.join()\n"
      "print(time.monotonic() - 1000)\n");
  EXPECT_EQ(world.lines(), std::vector<std::string>{"100.0"});
}

TEST(Guards, an_interpreter_that_cannot_serve_says_why) {
  const auto failure = [](const std::string& python, const std::string& source) -> std::string {
    try {
      Zygote zygote({python, {{"program", source}}});
    } catch (const GuestError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(failure("/no/such/python", ""), HasSubstr("cannot start \"/no/such/python\""));
  EXPECT_THAT(failure("/bin/true", ""), HasSubstr("ended, expected the imports"));
  HOOKE_NEEDS_PYTHON();
  EXPECT_THAT(failure("python3", "import no_such_module"), HasSubstr("no_such_module"));
  EXPECT_THAT(failure("python3",
                      "import hooke_clocks\nkept = hooke_clocks.REAL['monotonic']\n"
                      "def prepare(): pass\n"),
              HasSubstr("still reach outside of the simulated world: program.kept"));
}

}  // namespace
}  // namespace hooke::guest
