// What PyTorch's own rendezvous does in 20,000 random situations of each generation, on record and
// done again by hooke's.
#include <fstream>

#include "job.h"
#include "properties/conformance/replayed_case.h"

namespace hooke::interop {
namespace {

constexpr int kCases = 20'000;
constexpr int kShown = 5;  ///< cases that differ

/// What was compared, by what PyTorch did.
class Account {
 public:
  void add(const json& recorded) {
    const std::string kind = recorded["kind"];
    ++cases[kind];
    const json& expect = recorded.value("expect", json());
    if (kind == "sync") {
      for (const json& step : recorded["steps"]) {
        if (step["do"] == "sync") add_ending("sync", step["expect"]);
      }
      return;
    }
    if (kind == "run") {
      for (const json& turn : expect["trace"]) add_action("run", turn);
    }
    if (kind == "decide") add_action(kind, expect);
    if (kind == "apply") add_action(kind, recorded);
    if (kind != "decide") add_ending(kind, expect);
  }

  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& [kind, count] : cases) out += std::to_string(count) + " " + kind + ", ";
    return out + std::to_string(decisions) + " decisions and ends of operations";
  }

  std::map<std::string, int> cases;
  /// "decide ADD_TO_PARTICIPANTS", "apply raises KeyError".
  std::map<std::string, int> seen;
  int decisions = 0;

 private:
  void add_action(const std::string& kind, const json& of) {
    const json& action = of["action"];
    if (action.is_string()) ++seen[kind + " " + action.get<std::string>()];
    ++decisions;
  }
  void add_ending(const std::string& kind, const json& of) {
    const json raises = of.value("raises", json());
    if (raises.is_string()) ++seen[kind + " raises " + raises.get<std::string>()];
    ++decisions;
  }
};

/// What the cases must have in them, or they would prove little.
void expect_all_of_it(const Account& account, bool has_spares) {
  std::vector<std::string> actions{"KEEP_ALIVE",
                                   "ADD_TO_PARTICIPANTS",
                                   "ADD_TO_WAIT_LIST",
                                   "REMOVE_FROM_PARTICIPANTS",
                                   "REMOVE_FROM_WAIT_LIST",
                                   "MARK_RENDEZVOUS_COMPLETE",
                                   "MARK_RENDEZVOUS_CLOSED",
                                   "SYNC"};
  if (has_spares) {
    actions.insert(actions.end(), {"ADD_TO_REDUNDANCY_LIST", "REMOVE_FROM_REDUNDANCY_LIST"});
  }
  const auto seen = [&](const std::string& what) {
    const auto found = account.seen.find(what);
    return found == account.seen.end() ? 0 : found->second;
  };
  for (const std::string& action : actions) {
    for (const char* const kind : {"decide ", "apply ", "run "}) {
      EXPECT_GT(seen(kind + action), 20) << kind << action;
    }
  }
  for (const char* const what :
       {"decide FINISH", "decide ERROR_CLOSED", "decide ERROR_TIMEOUT", "apply raises KeyError",
        "run raises RendezvousClosedError", "run raises RendezvousTimeoutError",
        "sync raises RendezvousConnectionError", "sync raises RendezvousStateError"}) {
    EXPECT_GT(seen(what), 100) << what;
  }
}

void decide_again(model::Variant variant) {
  const std::string python = torch_python(variant);
  if (python.empty()) GTEST_SKIP() << "no interpreter has PyTorch " << to_string(variant);
  run([&](Ports& ports, const std::filesystem::path& directory) {
    const std::filesystem::path file = directory / "cases.jsonl";
    Child recorder(ports, directory, "recorder",
                   {python, script("recorded_decisions.py"), "29", std::to_string(kCases), file});
    ASSERT_EQ(recorder.end(5min), 0) << recorder.output();
    std::ifstream in(file);
    Account account;
    int read = 0;
    int different = 0;
    for (std::string line; std::getline(in, line); ++read) {
      const json recorded = json::parse(line);
      account.add(recorded);
      const std::string difference = model::difference_from_recorded(recorded, variant);
      if (difference.empty() || ++different > kShown) continue;
      ADD_FAILURE() << recorded["id"] << "\n" << difference << line;
    }
    std::printf("%s: %d cases (%s), %d different\n", std::string(to_string(variant)).c_str(), read,
                account.text().c_str(), different);
    EXPECT_EQ(different, 0);
    EXPECT_EQ(read, kCases);
    expect_all_of_it(account, keeps_spares(variant));
  });
}

TEST(RecordedDecisions, of_pytorch_2_13_are_those_of_hooke) {
  decide_again(model::Variant::torch_2_x);
}

TEST(RecordedDecisions, of_pytorch_1_13_are_those_of_hooke) {
  decide_again(model::Variant::torch_1_13);
}

}  // namespace
}  // namespace hooke::interop
