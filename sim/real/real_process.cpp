// The kernel with the event loop as its outside; the smaller ports live here.
#include "sim/real/real_process.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <stdexcept>
#include <string_view>

#include "sim/kernel/kernel.h"
#include "sim/port/check.h"
#include "sim/real/event_loop.h"
#include "sim/real/real_files.h"
#include "sim/real/real_network.h"
#include "sim/real/real_process_host.h"

namespace hooke::real {
namespace {

std::uint64_t real_seed() {
  std::uint64_t seed = 0;
  if (getentropy(&seed, sizeof(seed)) != 0) {
    throw std::runtime_error("the machine gives no random numbers");
  }
  return seed;
}

class RealClock final : public sim::Clock {
 public:
  explicit RealClock(const EventLoop& loop) : loop_(loop) {}
  [[nodiscard]] sim::MonotonicTime monotonic_now() const override {
    return sim::MonotonicTime(loop_.now().time_since_epoch());
  }
  [[nodiscard]] sim::WallTime wall_now() const override {
    return sim::WallTime(std::chrono::system_clock::now().time_since_epoch()) + offset;
  }
  sim::Duration offset{};

 private:
  const EventLoop& loop_;
};

/// The monotonic clock and the kernel's time are one and the same here.
class RealExecutor final : public sim::Executor {
 public:
  explicit RealExecutor(kernel::Kernel& kernel) : kernel_(kernel), group_(kernel) {}
  sim::FiberId spawn(std::string name, std::function<void()> body) override {
    HOOKE_CHECK(body != nullptr, "a fiber has something to do");
    return kernel_.spawn(group_, std::move(name), std::move(body));
  }
  void join(sim::FiberId fiber) override { kernel_.join(fiber); }
  [[nodiscard]] sim::ParkTicket ticket() override { return kernel_.ticket(); }
  sim::Wake park(sim::ParkTicket ticket, std::optional<sim::MonotonicTime> deadline) override {
    if (!deadline) return kernel_.park(ticket, std::nullopt);
    return kernel_.park(ticket, sim::WorldTime(deadline->time_since_epoch()));
  }
  bool wake(sim::ParkTicket ticket) override { return kernel_.wake(ticket); }
  void end_all() {
    group_.kill();
    kernel_.drain();
  }

 private:
  kernel::Kernel& kernel_;
  kernel::FiberGroup group_;
};

class RealRandom final : public sim::Random {
 public:
  explicit RealRandom(kernel::ChoiceSource& source) : source_(source) {}
  std::uint64_t below(std::string_view purpose, std::uint64_t bound) override {
    HOOKE_CHECK(bound >= 1 && !purpose.empty(), "a draw has a purpose and an alternative");
    const std::uint64_t drawn =
        streams_.try_emplace(purpose, source_, purpose, 0).first->second.below(bound);
    HOOKE_CHECK(drawn < bound, "what is drawn is one of the alternatives");
    return drawn;
  }

 private:
  kernel::ChoiceSource& source_;
  std::map<std::string_view, kernel::Stream> streams_;
};

class RealTrace final : public sim::Trace {
 public:
  RealTrace(kernel::Kernel& kernel, const RealClock& clock, const EventLoop& loop, sim::Pid pid)
      : kernel_(kernel), clock_(clock), loop_(loop), pid_(pid) {}
  sim::EventId emit(const sim::EventType& type,
                    std::initializer_list<sim::FieldValue> fields) override {
    HOOKE_CHECK(pid_.value > 0, "a process has a number");
    HOOKE_CHECK(fields.size() == type.field_count, "an event has the fields of its type");
    return kernel_.trace().emit(kernel_.cause(), loop_.now(), clock_.wall_now(), sim::NodeId{0},
                                pid_, type, {fields.begin(), fields.size()});
  }

 private:
  kernel::Kernel& kernel_;
  const RealClock& clock_;
  const EventLoop& loop_;
  sim::Pid pid_;
};

/// Nothing acts on a real process from inside.
class PassedPoint final : public sim::FaultPoint {
 public:
  void reach(std::string_view) override {}
  void raise_by(Raiser) override {}
};

}  // namespace

class RealProcess::Impl {
 public:
  explicit Impl(std::vector<std::string> arguments)
      : choices(real_seed()),
        executor(begun(kernel, choices, recorder, loop)),
        clock(loop),
        network(loop, executor),
        processes(loop, executor, std::move(arguments)),
        files(loop, executor),
        random(choices),
        trace(kernel, clock, loop, processes.self()) {}

  kernel::Kernel kernel;
  kernel::SeededSource choices;
  kernel::TraceRecorder recorder;
  EventLoop loop;
  RealExecutor executor;
  RealClock clock;
  RealNetwork network;
  RealProcessHost processes;
  RealFiles files;
  RealRandom random;
  RealTrace trace;
  PassedPoint fault_point;
  sim::Ports ports{clock, executor, network, processes, files, random, trace, fault_point};

 private:
  static kernel::Kernel& begun(kernel::Kernel& kernel, kernel::ChoiceSource& choices,
                               kernel::TraceRecorder& recorder, EventLoop& loop) {
    kernel.begin(choices, recorder, {}, kernel::Strategy::fifo);
    kernel.follow(loop);
    return kernel;
  }
};

RealProcess::RealProcess(std::vector<std::string> arguments) {
  // A peer or a reader that has gone is a failed write, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  impl_ = std::make_unique<Impl>(std::move(arguments));
}

RealProcess::~RealProcess() = default;

void RealProcess::set_wall_clock_offset(sim::Duration offset) {
  impl_->clock.offset = offset;
}

void RealProcess::add_sink(kernel::TraceSink& sink) {
  impl_->recorder.add_sink(sink);
}

void RealProcess::on_slow_look_up(TellSlowLookUp tell) {
  impl_->network.on_slow_look_up(std::move(tell));
}

int RealProcess::run(const std::function<int(sim::Ports&)>& program) {
  HOOKE_CHECK(program != nullptr, "a process has a program");
  int result = 0;
  impl_->executor.spawn("main", [&] {
    result = program(impl_->ports);
    impl_->kernel.stop();
  });
  const kernel::RunEnd end = impl_->kernel.run();
  impl_->executor.end_all();
  if (end == kernel::RunEnd::failed) throw std::runtime_error(impl_->kernel.failure());
  return result;
}

std::int64_t processor_count() {
  return std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
}

void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace hooke::real
