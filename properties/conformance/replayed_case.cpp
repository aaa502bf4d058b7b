// One function per kind of case.
#include "properties/conformance/replayed_case.h"

#include <functional>

#include "model/rendezvous/state/state_codec.h"
#include "properties/conformance/recorded_case.h"

namespace hooke::model {
namespace {

/// What a call raised, by PyTorch's class name; "null" for nothing.
template <class Call>
std::string raised_by(Call call) {
  try {
    call();
  } catch (const RendezvousError& error) {
    return error.class_name();
  } catch (const EscapedPythonError& error) {
    return error.class_name();
  }
  return "null";
}

std::string name_or_null(const json& value) {
  return value.is_null() ? "null" : value.get<std::string>();
}

class FakeClock final : public sim::Clock {
 public:
  [[nodiscard]] sim::MonotonicTime monotonic_now() const override { return kMonoNow + since; }
  [[nodiscard]] sim::WallTime wall_now() const override { return kWallNow + since; }
  Duration since{};
};

/// One value with a counting token, as the cases describe it.
class FakeBackend final : public RendezvousBackend {
 public:
  explicit FakeBackend(Variant variant) : variant_(variant) {}

  void store(const json& state, std::int64_t token) {
    value_ = encode_state(std::make_shared<RendezvousState>(state_of(state)), variant_);
    token_ = token;
  }
  void lose() { value_.reset(); }
  void hold_garbage(std::int64_t token) {
    value_ = sim::Value("garbage");
    token_ = token;
  }
  [[nodiscard]] std::string name() const override { return "fake"; }
  std::optional<StoredState> get_state() override {
    call = "get";
    fail_if_told();
    if (!value_) return std::nullopt;
    return StoredState{*value_, token()};
  }
  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>& given) override {
    call = "set";
    fail_if_told();
    const bool matches = given && !given->empty() ? value_ && *given == token() : !value_;
    if (!matches) {
      if (!value_) return std::nullopt;
      return SetStateResult{*value_, token(), false};
    }
    value_ = sim::Value(bytes.bytes());  // through real bytes, so that the codec takes part
    ++token_;
    return SetStateResult{*value_, token(), true};
  }

  std::string call = "null";
  bool fail_next = false;

 private:
  [[nodiscard]] Token token() const { return Token(std::to_string(token_)); }
  void fail_if_told() {
    if (std::exchange(fail_next, false)) throw RendezvousConnectionError("told to fail");
  }
  Variant variant_;
  std::optional<sim::Value> value_;
  std::int64_t token_ = 0;
};

std::string compare(const std::string& what, const std::string& expected, const std::string& got) {
  return expected == got ? "" : what + ": PyTorch " + expected + ", hooke " + got + "\n";
}

std::string check_decide(const json& in, Variant variant) {
  const RendezvousState state = state_of(in.at("state"));
  const RendezvousSettings settings = settings_of(in.at("settings"), variant);
  const NodeRef node = node_of(in.at("node"));
  std::string action = "null";
  std::string raised = raised_by([&] {
    const Situation situation{state, node, kWallNow, kMonoNow};
    const Decisions decisions(settings);
    const Operation operation = operation_named(in.at("op"));
    action = to_string((decisions.*operation)(situation, kMonoNow + micros(in.at("op_deadline"))));
  });
  if (action == "ERROR_CLOSED") raised = "RendezvousClosedError";
  if (action == "ERROR_TIMEOUT") raised = "RendezvousTimeoutError";
  const json& expect = in.at("expect");
  return compare("action", name_or_null(expect.at("action")), action) +
         compare("raises", name_or_null(expect.at("raises")), raised);
}

std::string check_apply(const json& in, Variant variant) {
  RendezvousState state = state_of(in.at("state"));
  const RendezvousSettings settings = settings_of(in.at("settings"), variant);
  const Action action = action_named(in.at("action"));
  const std::string raised = raised_by(
      [&] { Decisions(settings).apply(action, state, node_of(in.at("node")), kWallNow); });
  const json& expect = in.at("expect");
  std::string out = compare("raises", name_or_null(expect.at("raises")), raised);
  if (expect.at("raises").is_null()) {
    out += compare("after", text_of(state_of(expect.at("after"))), text_of(state));
    out += compare("dirty", expect.at("dirty").get<bool>() ? "true" : "false",
                   action == Action::sync ? "false" : "true");
    out += compare("waits", expect.at("waits").dump(),
                   action == Action::sync
                       ? json::array({kPollInterval / std::chrono::seconds(1)}).dump()
                       : "[]");
  }
  return out;
}

std::string check_sanitize(const json& in, Variant variant) {
  RendezvousState state = state_of(in.at("state"));
  const RendezvousSettings settings = settings_of(in.at("settings"), variant);
  const Decisions decisions(settings);
  std::vector<DeadNode> dead = decisions.dead_nodes(state, kWallNow);
  if (!dead.empty()) decisions.sanitise(state, dead);
  return compare("after", text_of(state_of(in.at("expect").at("after"))), text_of(state)) +
         compare("dead", dead_text(in.at("expect").at("dead")), dead_text(dead));
}

void take_stored(FakeBackend& backend, const json& stored) {
  if (!stored.is_null()) backend.store(stored.at("state"), stored.at("token"));
}

std::string check_sync(const json& in, Variant variant) {
  FakeClock clock;
  FakeBackend backend(variant);
  const RendezvousSettings settings = settings_of(in.at("settings"), variant);
  Decisions decisions(settings);
  StateHolder holder(clock, backend, settings, decisions, node_of(in.at("node")), nullptr,
                     micros(in.at("cache_duration")));
  take_stored(backend, in.at("backend"));
  std::string out;
  for (const json& step : in.at("steps")) {
    const std::string what = step.at("do");
    if (what == "apply") {
      holder.change(action_named(step.at("action")));
    } else if (what == "mark_dirty") {
      holder.mark_dirty();
    } else if (what == "advance") {
      clock.since += micros(step.at("seconds"));
    } else if (what == "other_writes") {
      backend.store(step.at("state"), step.at("token"));
    } else if (what == "backend_loses_state") {
      backend.lose();
    } else if (what == "backend_fails_next_call") {
      backend.fail_next = true;
    } else if (what == "backend_holds_garbage") {
      backend.hold_garbage(step.at("token"));
    } else {
      backend.call = "null";
      std::string has_set = "null";
      const std::string raised = raised_by([&] { has_set = flag_text(holder.sync()); });
      const json& expect = step.at("expect");
      out += compare("raises", name_or_null(expect.at("raises")), raised) +
             compare("has_set", expect.at("has_set").dump(), has_set) +
             compare("call", name_or_null(expect.at("call")), backend.call) +
             compare("token", token_text(expect.at("token")), token_text(holder.token())) +
             compare("state", text_of(state_of(expect.at("state"))), text_of(holder.state())) +
             compare("dead", dead_text(expect.at("dead")), dead_text(holder.dead_nodes()));
      if (!out.empty()) return out;
    }
  }
  return out;
}

/// Turns of a running operation, noted by the operation itself.
struct Turns {
  Operation decide = nullptr;
  FakeClock* clock = nullptr;
  FakeBackend* backend = nullptr;
  std::size_t most = 0;  ///< as many as PyTorch's operation had
  std::vector<std::string> lines;
};
Turns* running = nullptr;

class NotedDecisions : public Decisions {
 public:
  using Decisions::Decisions;
  Action noted(const Situation& situation, sim::MonotonicTime deadline) const {
    const std::string time = std::to_string(running->clock->since.count() / 1000) + "us ";
    const std::string call = std::exchange(running->backend->call, "null");
    std::string action = "null";
    // A spare that PyTorch has let go would wait here for ever.
    if (running->lines.size() > running->most) throw EscapedPythonError("nothing: it goes on", "");
    try {
      const Action decided = (this->*running->decide)(situation, deadline);
      action = to_string(decided);
      running->lines.push_back(time + call + " " + action);
      return decided;
    } catch (...) {
      running->lines.push_back(time + call + " " + action);
      throw;
    }
  }
};

/// Time passes while an operation waits, and others write before each exchange.
class NotedHooks final : public OpHooks {
 public:
  NotedHooks(std::function<void()> waits, std::function<void()> writes)
      : waits_(std::move(waits)), writes_(std::move(writes)) {}
  void pause(Duration) override { waits_(); }
  void before_write(Action) override { writes_(); }

 private:
  std::function<void()> waits_, writes_;
};

std::string check_run(const json& in, Variant variant) {
  FakeClock clock;
  FakeBackend backend(variant);
  const RendezvousSettings settings = settings_of(in.at("settings"), variant);
  const NodeRef node = node_of(in.at("node"));
  NotedDecisions decisions(settings);
  StateHolder holder(clock, backend, settings, decisions, node, nullptr,
                     micros(in.at("cache_duration")));
  take_stored(backend, in.at("backend"));
  Turns turns{
      operation_named(in.at("op")), &clock, &backend, in.at("expect").at("trace").size(), {}};
  running = &turns;
  // Writers that come in just before the n-th exchange: the executor exchanges before each
  // decision.
  std::size_t next_writer = 0;
  std::int64_t exchange_number = 0;
  const json& writers = in.at("other_writes");
  const auto let_others_write = [&] {
    while (next_writer < writers.size() &&
           writers[next_writer].at("before_sync") == exchange_number) {
      backend.store(writers[next_writer].at("state"), writers[next_writer].at("token"));
      ++next_writer;
    }
    ++exchange_number;
  };
  let_others_write();
  const bool joins = in.at("op") == "join";
  const std::string raised = raised_by([&] {
    NotedHooks hooks(
        [&] {
          clock.since += micros(in.at("wait"));
          let_others_write();
        },
        let_others_write);
    run_operation(static_cast<Operation>(&NotedDecisions::noted), decisions, holder, node, clock,
                  kMonoNow + micros(in.at("op_deadline")),
                  joins ? std::optional(settings.timeout.join) : std::nullopt, hooks);
  });
  const json& expect = in.at("expect");
  std::vector<std::string> expected;
  for (const json& turn : expect.at("trace")) {
    expected.push_back(std::to_string(micros(turn.at("time")).count() / 1000) + "us " +
                       name_or_null(turn.at("call")) + " " + name_or_null(turn.at("action")));
  }
  std::string out = compare("turns", json(expected).dump(), json(turns.lines).dump()) +
                    compare("raises", name_or_null(expect.at("raises")), raised) +
                    compare("token", token_text(expect.at("token")), token_text(holder.token()));
  if (expect.contains("state"))
    out += compare("state", text_of(state_of(expect.at("state"))), text_of(holder.state()));
  return out;
}

}  // namespace

std::string difference_from_recorded(const json& in, Variant variant) {
  const std::string kind = in.at("kind");
  if (kind == "decide") return check_decide(in, variant);
  if (kind == "apply") return check_apply(in, variant);
  if (kind == "sanitize") return check_sanitize(in, variant);
  if (kind == "sync") return check_sync(in, variant);
  if (kind == "run") return check_run(in, variant);
  return "a case of unknown kind \"" + kind + "\"\n";
}

}  // namespace hooke::model
