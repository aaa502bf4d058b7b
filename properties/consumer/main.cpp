// What a project outside hooke writes: an invariant of its own and a property over a scenario.
#include <model/observe/trace_events.h>
#include <properties/invariants/invariant.h>
#include <rapidcheck.h>
#include <scenarios/loader.h>
#include <scenarios/runner.h>

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
  if (argc != 2) return 2;
  auto invariants = hooke::properties::InvariantRegistry::with_builtins();
  invariants.add([] { return std::make_unique<AtMostTenRounds>(); });
  const auto scenario = hooke::scenario::load_scenario_file(argv[1]);
  hooke::kernel::Kernel kernel;
  return rc::check("the scenario keeps its promises under every seed",
                   [&] {
                     hooke::scenario::RunOptions options;
                     options.seed = *rc::gen::arbitrary<std::uint64_t>();
                     RC_ASSERT(hooke::scenario::run(kernel, scenario, options, invariants).passed);
                   })
             ? 0
             : 1;
}
