// A fiber per thread: answer, listen, act.
#include "sim/guest/guest_process.h"

#include <string_view>
#include <utility>

#include "sim/port/check.h"

namespace hooke::guest {
namespace {

/// How long the stacks of a silent guest are waited for, in real time, and in how many looks.
constexpr std::chrono::milliseconds kStackLook{50};
constexpr int kStackLooks = 40;

Message first_word(sim::Ports& ports, const GuestOptions& options) {
  Message::List environment;
  for (const auto& [name, value] : ports.processes.environment()) {
    environment.push_back(Message::List{name, value});
  }
  return Message::List{options.config,
                       options.directory,
                       ports.network.host_name(),
                       ports.network.fully_qualified_name(),
                       std::int64_t{ports.processes.self().value},
                       environment};
}

/// A request and a note begin with their name.
std::string_view name_of(const Message::List& message) {
  if (message.empty()) throw GuestError("the guest sent nothing, expected a request or a note");
  return message.front().text();
}

}  // namespace

GuestProcess::GuestProcess(sim::Ports& ports, Zygote& zygote, Services& services,
                           const GuestOptions& options)
    : ports_(ports),
      zygote_(zygote),
      services_(services),
      silence_max_(options.silence_max),
      born_(zygote.fork(first_word(ports, options))) {
  HOOKE_CHECK(born_.channels.size() == kThreadsMax, "every thread has a channel");
  HOOKE_CHECK(silence_max_ > std::chrono::milliseconds::zero(), "a guest is given time to ask");
}

GuestProcess::~GuestProcess() {
  *is_there_ = false;
  try {
    zygote_.kill(born_.pid);
  } catch (const GuestError&) {
    // The interpreter is gone, and its guests went with it.
  }
}

int GuestProcess::run() {
  HOOKE_CHECK(!threads_[0].alive, "a guest runs once");
  threads_[0].alive = true;
  threads_[0].name = "MainThread";
  const std::optional<int> code = serve(0);
  if (!code) throw GuestError("the main thread of a guest ended without an exit code");
  return *code;
}

std::optional<int> GuestProcess::serve(std::size_t slot) {
  HOOKE_CHECK(slot < kThreadsMax && threads_[slot].alive, "a thread that lives is served");
  Answer answer;
  for (;;) {
    const Message said = exchange(slot, answer);
    for (const Message& note : said.at(1).list()) take_note(note.list());
    const Message::List& request = said.at(0).list();
    const std::string_view name = name_of(request);
    if (name == "end") {
      threads_[slot].alive = false;
      return std::nullopt;
    }
    if (name == "exit") return static_cast<int>(said.at(0).at(1).number());
    answer = perform(slot, request);
  }
}

Message GuestProcess::exchange(std::size_t slot, const Answer& answer) {
  HOOKE_CHECK(threads_[slot].alive, "a thread that has ended asks for nothing");
  HOOKE_CHECK(!threads_[slot].parked, "a thread that is answered waits for nothing");
  Message::List signals;
  if (slot == 0) {
    // Those that the last request has brought about come with its answer, as a system call that
    // sends a signal to its own process returns into the handler.
    static_cast<void>(take_signals());
    for (const std::int64_t number : std::exchange(signals_, {})) {
      HOOKE_CHECK(number > 0, "a signal that is caught has a number");
      services_.on_signal(static_cast<sim::Signal>(number));
      signals.emplace_back(number);
    }
  }
  const int channel = born_.channels[slot].get();
  send_message(channel,
               Message::List{ports_.clock.monotonic_now().time_since_epoch().count(),
                             ports_.clock.wall_now().time_since_epoch().count(), std::move(signals),
                             ended_children(), static_cast<int>(answer.reason), answer.value});
  Message said;
  switch (receive_message(channel, silence_max_, said)) {
    case Received::message: return said;
    case Received::silence: fail_silent(slot);
    case Received::end: fail_fallen(slot);
  }
  return said;
}

void GuestProcess::fail_silent(std::size_t slot) {
  const std::size_t before = contents(born_.output).size();
  zygote_.ask_for_stacks(born_.pid);
  std::string stacks;
  // Nothing says where the stacks end, but that they grow no more.
  for (int look = 0; look < kStackLooks; ++look) {
    Message ignored;
    static_cast<void>(receive_message(born_.channels[slot].get(), kStackLook, ignored));
    std::string now = contents(born_.output).substr(before);
    if (!now.empty() && now == stacks) break;
    stacks = std::move(now);
  }
  throw GuestError(
      "thread \"" + threads_[slot].name + "\" of the guest on " + ports_.network.host_name() +
      " has made no request for " + std::to_string(silence_max_.count()) +
      " ms of real time: it runs, or waits for something outside of the world\n" + stacks);
}

void GuestProcess::fail_fallen(std::size_t slot) {
  throw GuestError("the guest on " + ports_.network.host_name() + " fell in thread \"" +
                   threads_[slot].name + "\"\n" + contents(born_.output));
}

// ---- notes --------------------------------------------------------------------------------------

void GuestProcess::take_note(const Message::List& note) {
  const std::string_view name = name_of(note);
  const Message arguments(Message::List(note.begin() + 1, note.end()));
  if (name == "wake") {
    wake(static_cast<std::size_t>(arguments.at(0).number()), Reason::done);
  } else if (name == "thread") {
    start_thread(static_cast<std::size_t>(arguments.at(0).number()), arguments.at(1).text());
  } else if (name == "catch") {
    catch_signal(arguments.at(0).number());
  } else if (name == "line") {
    services_.on_line(arguments.at(0).text());
  } else {
    services_.note(std::string(name), arguments);
  }
}

void GuestProcess::start_thread(std::size_t slot, const std::string& name) {
  if (slot == 0 || slot >= kThreadsMax || threads_[slot].alive) {
    throw GuestError("the guest started thread \"" + name + "\" on a channel that is not free");
  }
  threads_[slot] = {true, name, std::nullopt, Reason::done};
  static_cast<void>(ports_.executor.spawn(
      services_.fiber_of(name), [this, slot, is_there = is_there_, &ports = ports_] {
        try {
          if (serve(slot)) throw GuestError("only the main thread of a guest ends it");
        } catch (const sim::Killed&) {
          // Of a process that has died nothing is asked any more.
          if (*is_there && ports.processes.state(ports.processes.self())) end_thread(slot);
          throw;
        }
      }));
}

/// Each of its requests is answered with an exception, as none of them is carried out: the thread
/// lets go of its locks on the way out.
void GuestProcess::end_thread(std::size_t slot) {
  HOOKE_CHECK(slot > 0 && threads_[slot].alive, "a fault kills a thread beside the main one");
  constexpr int kRequestsMax = 100;
  threads_[slot].parked.reset();
  for (int i = 0; i < kRequestsMax; ++i) {
    const Message said = exchange(slot, {{}, Reason::dies});
    for (const Message& note : said.at(1).list()) take_note(note.list());
    if (name_of(said.at(0).list()) != "end") continue;
    threads_[slot].alive = false;
    return;
  }
  throw GuestError("thread \"" + threads_[slot].name + "\" of the guest on " +
                   ports_.network.host_name() + " does not end when a fault has killed it");
}

void GuestProcess::wake(std::size_t slot, Reason reason) {
  if (slot >= kThreadsMax) throw GuestError("the guest woke a thread that cannot be");
  HOOKE_CHECK(reason != Reason::timed_out, "what wakes a thread is no time-out");
  Thread& thread = threads_[slot];
  if (!thread.parked) return;
  HOOKE_CHECK(thread.alive, "a thread that waits lives");
  thread.reason = reason;
  static_cast<void>(ports_.executor.wake(*std::exchange(thread.parked, std::nullopt)));
}

void GuestProcess::catch_signal(std::int64_t number) {
  const auto signal = static_cast<sim::Signal>(number);
  if (to_string(signal) == "SIG?") {
    throw GuestError("a guest handles signal " + std::to_string(number) +
                     ", which the world does not have");
  }
  static_cast<void>(ports_.processes.catch_signal(signal));
  if (std::exchange(listens_for_signals_, true)) return;
  static_cast<void>(ports_.executor.spawn("python signals", [this] { listen_for_signals(); }));
}

/// As the kernel interrupts the main thread's wait, for Python's handlers run there alone.
void GuestProcess::listen_for_signals() {
  HOOKE_CHECK(listens_for_signals_, "a guest listens once it has caught a signal");
  for (;;) {
    static_cast<void>(ports_.processes.wait_signal(std::nullopt));
    if (take_signals()) wake(0, Reason::signalled);
  }
}

bool GuestProcess::take_signals() {
  bool any = false;
  while (const auto signal = ports_.processes.take_signal()) {
    HOOKE_CHECK(to_string(*signal) != "SIG?", "the world sends signals that it has");
    signals_.push_back(static_cast<int>(*signal));
    any = true;
  }
  return any;
}

int run_guest(sim::Ports& ports, Zygote& zygote, Services& services, const GuestOptions& options) {
  return GuestProcess(ports, zygote, services, options).run();
}

}  // namespace hooke::guest
