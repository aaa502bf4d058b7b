// The spans by which agents go.
#include <array>
#include <utility>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

using Span = sim::Duration Timeouts::*;

constexpr std::array<std::pair<std::string_view, Span>, 8> kSettings{{
    {"join", &Timeouts::join},
    {"last_call", &Timeouts::last_call},
    {"close", &Timeouts::close},
    {"heartbeat", &Timeouts::heartbeat},
    {"keep_alive", &Timeouts::keep_alive},
    {"read_timeout", &Timeouts::read_timeout},
    {"monitor", &Timeouts::monitor},
    {"exit_barrier", &Timeouts::exit_barrier},
}};

/// An agent tells the spans that it goes by when it starts. What it does by them is judged elsewhere,
/// by what it was given: one that took half or twice as much for its setting would else be judged by
/// its own measure. Where the world does not tell what agents are given, nothing is judged.
class Settings final : public Judge {
 public:
  Settings()
      : Judge("safety.settings",
              "An agent uses the timeouts and intervals that it was started with.",
              {&ev::agent_started, &ev::agent_settings}) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    const Given* const given = view().given(event.node);
    if (given == nullptr) return;
    if (event.type == &ev::agent_started)
      return compare(event, id, "shutdown", given->spans.shutdown);
    for (const auto& [name, span] : kSettings) compare(event, id, name, given->spans.*span);
  }

  void compare(const sim::Event& event, AgentId id, std::string_view name, sim::Duration given) {
    const sim::Duration told(number(event, name));
    if (told == given) return kept();
    broken(event, "{} was started with {} as its {}, and goes by {}", id, given, name, told);
  }
};

}  // namespace

void add_settings(InvariantRegistry& registry) {
  registry.add<Settings>();
}

}  // namespace hooke::properties
