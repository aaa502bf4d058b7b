// Which worker gets which ranks, what that costs on the store, and what goes wrong.
#include "model/agent/rank_assignment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "model/agent/elastic_agent.h"
#include "model/rendezvous/dynamic/decisions.h"
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

/// One agent's part in an exchange.
struct Part {
  WorkerSpec spec;
  std::string result;  ///< "[base, world, base in role, role]", or what was raised
};

std::string text_of(const RankAssignment& ranks) {
  return "[" + std::to_string(ranks.base_rank) + ", " + std::to_string(ranks.world_size) + ", " +
         std::to_string(ranks.base_role_rank) + ", " + std::to_string(ranks.role_world_size) + "]";
}

/// All agents of a round exchange their ranks over one store; `absent` ones do not come.
class Exchange {
 public:
  explicit Exchange(const std::vector<RoleInfo>& roles, Variant variant = Variant::torch_2_x) {
    for (const RoleInfo& role : roles) {
      Part part;
      part.spec.role = role.role;
      part.spec.local_world_size = role.local_world_size;
      part.spec.variant = variant;
      parts.push_back(part);
    }
  }
  void run(std::size_t absent = ~std::size_t{0}) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i == absent) continue;
      const std::string name = "part" + std::to_string(i);
      job.world->register_program(name, [this, i](Ports& ports) {
        parts[i].result = exchange(ports, i);
        return 0;
      });
      job.start_again(job[0].node, name);
    }
    job.run();
  }
  [[nodiscard]] Texts results() const {
    Texts out;
    for (const Part& part : parts) out.push_back(part.result);
    return out;
  }
  std::string exchange(Ports& ports, std::size_t i) {
    MemoryStore store(ports, job.store(1));
    try {
      return text_of(exchange_ranks(parts[i].spec, store, static_cast<std::int64_t>(i),
                                    static_cast<std::int64_t>(parts.size())));
    } catch (const StoreTimeoutError&) {
      return "timed out";
    } catch (const EscapedPythonError& error) {
      return error.class_name();
    }
  }

  TestJob job;
  std::vector<Part> parts;
};

const std::vector<RoleInfo> kExample{
    {"ps", 4}, {"trainer", 1}, {"trainer", 2}, {"trainer", 3}, {"ps", 5}};
const Texts kExampleRanks{"[0, 15, 0, 9]", "[4, 15, 0, 6]", "[5, 15, 1, 6]", "[7, 15, 3, 6]",
                          "[10, 15, 4, 9]"};

TEST(RankAssignment, ranks_are_prefix_sums_over_all_and_within_a_role) {
  Texts ranks;
  for (const RankAssignment& assignment : assign_ranks(kExample))
    ranks.push_back(text_of(assignment));
  EXPECT_EQ(ranks, kExampleRanks);
}

TEST(RankAssignment, every_agent_learns_its_ranks_in_both_generations) {
  for (const Variant variant : {Variant::torch_2_x, Variant::torch_1_13}) {
    Exchange exchange(kExample, variant);
    exchange.run();
    EXPECT_EQ(exchange.results(), kExampleRanks);
  }
}

RC_GTEST_PROP(RankAssignment, every_rank_is_given_once_whatever_the_roles, ()) {
  const auto agents = *rc::gen::nonEmpty(rc::gen::container<std::vector<RoleInfo>>(rc::gen::apply(
      [](char role, int size) {
        return RoleInfo{std::string(1, role), size};
      },
      rc::gen::inRange('a', 'e'), rc::gen::inRange(1, 9))));
  const auto assignments = assign_ranks(agents);
  std::map<std::int64_t, int> global;
  std::map<std::pair<std::string, std::int64_t>, int> in_role;
  for (std::size_t i = 0; i < agents.size(); ++i) {
    for (std::int64_t k = 0; k < agents[i].local_world_size; ++k) {
      ++global[assignments[i].base_rank + k];
      ++in_role[{agents[i].role, assignments[i].base_role_rank + k}];
      RC_ASSERT(assignments[i].base_rank + k < assignments[i].world_size);
      RC_ASSERT(assignments[i].base_role_rank + k < assignments[i].role_world_size);
    }
  }
  RC_ASSERT(static_cast<std::int64_t>(global.size()) == assignments.front().world_size);
  for (const auto& [rank, count] : global) RC_ASSERT(count == 1);
  for (const auto& [rank, count] : in_role) RC_ASSERT(count == 1);
}

TEST(RankAssignment, only_agent_0_reads_and_writes_for_all) {
  Exchange exchange({{"default", 2}, {"default", 2}});
  exchange.run();
  EXPECT_EQ(exchange.job.store(1)->calls,
            (Texts{"set torchelastic/role_info/0", "multi_get 2", "set torchelastic/role_info/1",
                   "get torchelastic/assigned_ranks/1", "multi_set 2",
                   "get torchelastic/assigned_ranks/0"}));
}

TEST(RankAssignment, values_on_the_store_are_those_of_pytorch) {
  Exchange exchange({{"default", 2}, {"tr\xc3\xa4iner \"x\"", 3}});
  exchange.run();
  const auto& store = *exchange.job.store(1);
  EXPECT_EQ(store.text("torchelastic/role_info/0"),
            R"({"role": "default", "rank": 0, "local_world_size": 2})");
  EXPECT_EQ(store.text("torchelastic/role_info/1"),
            R"({"role": "tr\u00e4iner \"x\"", "rank": 1, "local_world_size": 3})");
  EXPECT_EQ(store.text("torchelastic/assigned_ranks/1"), "[2, 5, 0, 3]");
}

TEST(RankAssignment, a_missing_agent_costs_everybody_the_store_timeout) {
  Exchange exchange({{"default", 1}, {"default", 1}, {"default", 1}});
  exchange.run(2);
  EXPECT_EQ(exchange.results(), (Texts{"timed out", "timed out", ""}));
  EXPECT_EQ(exchange.job.now(), 300s);
}

TEST(RankAssignment, identical_workers_need_no_exchange) {
  Exchange exchange({{"default", 4}, {"default", 4}, {"default", 4}});
  for (Part& part : exchange.parts) part.spec.worker_identical = true;
  exchange.run();
  EXPECT_EQ(exchange.results(), (Texts{"[0, 12, 0, 12]", "[4, 12, 4, 12]", "[8, 12, 8, 12]"}));
  EXPECT_TRUE(exchange.job.store(1)->calls.empty());
}

TEST(RankAssignment, no_check_finds_identical_workers_that_differ) {  // A-2
  Exchange exchange({{"default", 4}, {"default", 2}});
  for (Part& part : exchange.parts) part.spec.worker_identical = true;
  exchange.run();
  EXPECT_EQ(exchange.results(), (Texts{"[0, 8, 0, 8]", "[2, 4, 2, 4]"}));  // rank 2 twice
}

TEST(RankAssignment, an_agent_without_the_shortcut_waits_for_keys_that_no_agent_writes) {  // A-2
  Exchange exchange({{"default", 4}, {"default", 4}});
  exchange.parts[0].spec.worker_identical = true;
  exchange.run();
  EXPECT_EQ(exchange.results(), (Texts{"[0, 8, 0, 8]", "timed out"}));
}

TEST(RankAssignment, torch_1_13_gathers_everything_at_every_agent_under_joined_up_keys) {
  Exchange exchange({{"default", 1}, {"default", 1}}, Variant::torch_1_13);
  exchange.run();
  const auto& store = *exchange.job.store(1);
  EXPECT_EQ(store.text("torchelastic/role_info1"),
            R"({"role": "default", "rank": 1, "local_world_size": 1})");
  EXPECT_EQ(store.text("torchelastic/role_info1.FIN"), "FIN");
  const auto count = [&](const std::string& call) {
    return std::count(store.calls.begin(), store.calls.end(), call);
  };
  EXPECT_EQ(count("get torchelastic/role_info0"), 2);
  EXPECT_EQ(count("get torchelastic/role_info1"), 2);
  EXPECT_EQ(count("get torchelastic/role_info1.FIN"), 1);  // rank 0 alone
}

TEST(RankAssignment, foreign_values_escape_as_python_errors) {
  const std::map<std::string, std::string> expected{
      {"[0, 1, 0]", "ValueError"},
      {"[0, 1, 0, 1, 1]", "ValueError"},
      {"[9223372036854775807, 1, 0, 1]", "OverflowError"},
      {"[0, 1", "JSONDecodeError"},
      {"\xff\xfe", "JSONDecodeError"},
      {"", "JSONDecodeError"}};
  for (const auto& [value, error] : expected) {
    Exchange exchange({{"default", 1}, {"default", 1}});
    exchange.job.store(1)->values["torchelastic/assigned_ranks/1"] = Value(value);
    exchange.run(0);
    EXPECT_EQ(exchange.parts[1].result, error) << value;
  }
}

TEST(RankAssignment, a_foreign_role_info_ends_agent_0) {
  Exchange exchange({{"default", 1}, {"default", 1}});
  exchange.job.store(1)->values["torchelastic/role_info/1"] = Value(std::string("{\"role\": 3}"));
  exchange.run(1);
  EXPECT_EQ(exchange.parts[0].result, "JSONDecodeError");
}

}  // namespace
}  // namespace hooke::model
