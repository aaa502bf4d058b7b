// A plan of small numbers is drawn first and then built into a scenario: RapidCheck shrinks plain
// numbers and lists well, and every plan it can shrink to is a valid world.
#include "world_generator.h"

#include <algorithm>

#include "scenarios/format/vocabulary.h"
#include "scenarios/format/writer.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;

/// One fault as numbers: which word, on which node, when, how long, how much.
struct FaultPlan {
  int word = 0;
  int node = 0;
  int at_s = 0;
  int for_s = 0;
  int amount = 0;
};

struct WorldPlan {
  std::uint64_t seed = 0;
  int nodes = 1;
  int spare_seats = 0;  ///< max_nodes - min_nodes
  bool external_store = false;
  bool own_worker_store = false;  ///< workers do not share the agents' store
  bool old_variant = false;
  int workers = 1;
  int collectives = 1;
  int work_s = 1;
  int max_restarts = 0;
  int peer_abort_s = 5;
  std::vector<FaultPlan> faults;
};

rc::Gen<FaultPlan> fault_plan() {
  return rc::gen::build<FaultPlan>(
      rc::gen::set(&FaultPlan::word,
                   rc::gen::inRange(0, static_cast<int>(words_of_every_store().size()))),
      rc::gen::set(&FaultPlan::node, rc::gen::inRange(0, 6)),
      rc::gen::set(&FaultPlan::at_s, rc::gen::inRange(0, 60)),
      rc::gen::set(&FaultPlan::for_s, rc::gen::inRange(1, 40)),
      rc::gen::set(&FaultPlan::amount, rc::gen::inRange(1, 5)));
}

rc::Gen<WorldPlan> world_plan(int faults_max) {
  return rc::gen::build<WorldPlan>(
      rc::gen::set(&WorldPlan::seed, rc::gen::inRange<std::uint64_t>(0, 1'000'000)),
      rc::gen::set(&WorldPlan::nodes, rc::gen::inRange(1, 7)),
      rc::gen::set(&WorldPlan::spare_seats, rc::gen::inRange(0, 3)),
      rc::gen::set(&WorldPlan::external_store, rc::gen::arbitrary<bool>()),
      rc::gen::set(&WorldPlan::own_worker_store, rc::gen::arbitrary<bool>()),
      rc::gen::set(&WorldPlan::old_variant, rc::gen::arbitrary<bool>()),
      rc::gen::set(&WorldPlan::workers, rc::gen::inRange(1, 4)),
      rc::gen::set(&WorldPlan::collectives, rc::gen::inRange(1, 5)),
      rc::gen::set(&WorldPlan::work_s, rc::gen::inRange(1, 12)),
      rc::gen::set(&WorldPlan::max_restarts, rc::gen::inRange(0, 3)),
      rc::gen::set(&WorldPlan::peer_abort_s, rc::gen::inRange(5, 30)),
      rc::gen::set(&WorldPlan::faults,
                   rc::gen::mapcat(rc::gen::inRange(0, faults_max + 1), [](int count) {
                     return rc::gen::container<std::vector<FaultPlan>>(
                         static_cast<std::size_t>(count), fault_plan());
                   })));
}

/// Every parameter that the word knows. `amount`, from 1 on: how much, in what is usual for the
/// word; seconds where it takes a span.
TimelineEntry fault_entry(const Word& word, const std::string& node, Duration at, Duration lasts,
                          std::int64_t amount) {
  const unsigned parameters = word.required | word.optional;
  TimelineEntry entry;
  entry.what = word.name;
  entry.trigger.at = at;
  if ((parameters & (kNode | kPaths)) != 0) entry.from = {node};
  if ((parameters & kFor) != 0) entry.duration = lasts;
  if ((parameters & kBy) != 0) entry.span = std::chrono::seconds(amount);
  if ((parameters & kAmount) != 0) entry.amount = amount;
  if ((parameters & kText) != 0) entry.text = entry.what == "thread.dies" ? "keep_alive" : node;
  if (word.text_is == TextIs::error) entry.text = "OSError";
  if (entry.what == "net.loss") entry.amount = amount * 1000;
  if (entry.what == "net.bandwidth") entry.amount = amount * 1'000'000;
  if (entry.what == "port.busy") entry.amount = 29400;
  return entry;
}

Scenario build(const WorldPlan& plan) {
  Scenario scenario;
  scenario.name = "random-world";
  scenario.seed = plan.seed;
  scenario.time_limit = 1200s;
  for (int i = 0; i < plan.nodes; ++i) {
    NodePlan node;
    node.id = std::string(1, static_cast<char>('a' + i));
    scenario.cluster.nodes.push_back(node);
  }
  scenario.cluster.store_host = plan.external_store ? "" : "a";
  ProtocolPlan& protocol = scenario.protocol;
  protocol.variant = plan.old_variant ? model::Variant::torch_1_13 : model::Variant::torch_2_x;
  protocol.rendezvous.max_nodes = plan.nodes;
  protocol.rendezvous.min_nodes = std::max(1, plan.nodes - plan.spare_seats);
  protocol.rendezvous.join = 60s;
  protocol.rendezvous.last_call = 5s;
  protocol.rendezvous.read_timeout = 20s;
  protocol.agent.max_restarts = plan.max_restarts;
  protocol.agent.exit_barrier_timeout = 60s;
  if (plan.own_worker_store) protocol.agent.environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
  scenario.workers.per_node = plan.workers;
  scenario.workers.peer_abort = std::chrono::seconds(plan.peer_abort_s);
  WorkerStep init;
  init.kind = WorkerStep::Kind::init;
  WorkerStep train;
  train.kind = WorkerStep::Kind::collective;
  train.count = plan.collectives;
  train.span = std::chrono::seconds(plan.work_s);
  WorkerStep exit;
  exit.kind = WorkerStep::Kind::exit;
  scenario.workers.program = {init, train, exit};
  for (const FaultPlan& fault : plan.faults) {
    const auto& nodes = scenario.cluster.nodes;
    const TimelineEntry entry = fault_entry(
        vocabulary()[static_cast<std::size_t>(fault.word)],
        nodes[static_cast<std::size_t>(fault.node) % nodes.size()].id,
        std::chrono::seconds(fault.at_s), std::chrono::seconds(fault.for_s), fault.amount);
    // Only a store of its own can be restarted.
    if (entry.what == "store.restart" && !plan.external_store) continue;
    scenario.timeline.push_back(entry);
  }
  return scenario;
}

}  // namespace

rc::Gen<Scenario> quiet_world() {
  return rc::gen::map(world_plan(0), build);
}

rc::Gen<Scenario> faulty_world() {
  return rc::gen::map(world_plan(4), build);
}

}  // namespace hooke::scenario

namespace rc {

void showValue(const hooke::scenario::Scenario& scenario, std::ostream& out) {
  out << hooke::scenario::write_scenario(scenario);
}

}  // namespace rc
