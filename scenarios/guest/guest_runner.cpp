// The simulated runner with other agents, fewer invariants and real directories.
#include "scenarios/guest/guest_runner.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

#include "model/launch/launch_agent.h"
#include "scenarios/guest/guest_agent.h"
#include "scenarios/guest/python_sources.h"

namespace hooke::scenario {
namespace {

namespace fs = std::filesystem;

/// Where the guests of one scenario are at home; gone with the object.
class Homes {
 public:
  Homes() {
    std::string pattern = (fs::temp_directory_path() / "hooke-guests-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw guest::GuestError("no directory for the guests in " +
                              fs::temp_directory_path().string());
    path_ = pattern;
  }
  ~Homes() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Homes(const Homes&) = delete;
  Homes& operator=(const Homes&) = delete;

  /// A new one.
  std::string next() {
    const fs::path home = path_ / std::to_string(++count_);
    fs::create_directory(home);
    return home.string();
  }

 private:
  fs::path path_;
  int count_ = 0;
};

properties::InvariantRegistry judged(const properties::InvariantRegistry& all) {
  properties::InvariantRegistry out;
  for (const std::string& id : all.ids()) {
    if (!is_judged_of_guests(id)) continue;
    out.add([&all, id] {
      auto made = all.make_all();
      const auto found = std::find_if(made.begin(), made.end(),
                                      [&](const auto& invariant) { return invariant->id() == id; });
      return std::move(*found);
    });
  }
  return out;
}

/// Without the expectations that no agent here could see come true.
Scenario what_can_be_judged(const Scenario& scenario) {
  Scenario out = scenario;
  std::erase_if(out.expect.violates,
                [](const std::string& id) { return !is_judged_of_guests(id); });
  // Most coverage points are set where the protocol's code is, and that is not this code.
  out.expect.coverage.clear();
  return out;
}

}  // namespace

std::unique_ptr<guest::Zygote> start_torch(const std::string& python,
                                           const std::vector<guest::Module>& planted,
                                           const std::string& module_path) {
  guest::ZygoteOptions options;
  options.python = python;
  options.module_path = module_path;
  options.modules = torch_modules();  // the last one is the program
  options.modules.insert(options.modules.end() - 1, planted.begin(), planted.end());
  return std::make_unique<guest::Zygote>(options);
}

model::Variant release_of(const std::string& version) {
  const int major = std::atoi(version.c_str());
  const int minor = std::atoi(version.c_str() + (version.find('.') + 1));
  std::optional<model::Variant> newest;
  for (int each = 0; each <= minor; ++each) {
    const auto known =
        model::variant_from("torch-" + std::to_string(major) + "." + std::to_string(each));
    if (known) newest = known;
  }
  if (!newest)
    throw guest::GuestError("expected PyTorch 1.13 or 2.x, the guests have PyTorch " + version);
  return *newest;
}

Scenario played_by(model::Variant release, Scenario scenario) {
  const auto put = [&](model::Variant& variant) {
    if (variant == model::Variant::torch_2_x) variant = release;
  };
  put(scenario.protocol.variant);
  for (NodePlan& node : scenario.cluster.nodes) {
    if (node.variant) put(*node.variant);
  }
  return scenario;
}

RunReport run_with_guests(kernel::Kernel& kernel, const Scenario& scenario, RunOptions options,
                          const properties::InvariantRegistry& invariants, guest::Zygote& zygote,
                          const std::function<AgentBody(AgentBody)>& watch) {
  RunReport report;
  report.name = scenario.name;
  report.seed = options.seed.value_or(scenario.seed);
  const model::Variant release = release_of(zygote.greeting().text());
  const Scenario played = played_by(release, scenario);
  for (const std::string& what : unsupported_by_guests(played, release)) {
    report.unsupported += (report.unsupported.empty() ? "" : ", ") + what;
  }
  if (!report.unsupported.empty()) return report;
  Homes homes;
  options.agent = [&](sim::Ports& ports, const model::LaunchConfig& config) {
    // PyTorch's beside hooke's in one job: nodes of other variants keep hooke's agents.
    if (config.variant != release) {
      return model::launch_agent(ports, options.plugins, config);
    }
    return run_guest_agent(ports, zygote, config, homes.next());
  };
  if (watch) options.agent = watch(std::move(options.agent));
  return run(kernel, what_can_be_judged(played), options, judged(invariants));
}

}  // namespace hooke::scenario
