// What a project outside hooke writes: an invariant of its own and a property over scenarios, whose
// agents may consist of parts of its own (own_parts.cpp).
#include <model/observe/trace_events.h>
#include <properties/invariants/invariant.h>
#include <rapidcheck.h>
#include <scenarios/format/loader.h>
#include <scenarios/simulated/runner.h>

extern "C" void hooke_register_plugins_1(hooke::model::Plugins& plugins);

struct AtMostTenRounds final : hooke::properties::Invariant {
  std::string_view id() const override { return "safety.at_most_ten_rounds"; }
  std::string_view meaning() const override { return "A job of ours needs at most ten rounds."; }
  void on_event(const hooke::sim::Event& event) override {
    if (event.type == &hooke::model::events::rendezvous_completed && ++rounds == 11)
      broken.push_back({std::string(id()), "an eleventh round was completed", event.at, event.id});
  }
  void finish(const hooke::properties::RunFacts&) override {}
  const std::vector<hooke::properties::Violation>& violations() const override { return broken; }
  int rounds = 0;
  std::vector<hooke::properties::Violation> broken;
};

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  auto invariants = hooke::properties::InvariantRegistry::with_builtins();
  invariants.add([] { return std::make_unique<AtMostTenRounds>(); });
  hooke::scenario::RunOptions options;
  hooke_register_plugins_1(options.plugins);
  hooke::kernel::Kernel kernel;
  bool kept = true;
  for (int i = 1; i < argc; ++i) {
    const auto scenario = hooke::scenario::load_scenario_file(argv[i], options.plugins);
    kept &= rc::check(scenario.name + " keeps its invariants under every seed", [&] {
      options.seed = *rc::gen::arbitrary<std::uint64_t>();
      RC_ASSERT(hooke::scenario::run(kernel, scenario, options, invariants).passed);
    });
  }
  return kept ? 0 : 1;
}
