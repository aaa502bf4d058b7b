#pragma once
// Follows the first joins of all nodes of a job, and ends the run when each node has its verdict: it
// has its ranks, or its rendezvous or its agent has failed. Or it follows the agents to their ends.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "reports/latency_study.h"
#include "sim/kernel/kernel.h"

namespace hooke::report {

class JoinWatch final : public kernel::TraceSink {
 public:
  using Report = std::function<void(const StudyProgress&)>;

  enum class Until : unsigned char { verdicts, ends };

  /// `state`: what `report` is told, every few thousand events. `lost`: nodes, counted from 0, that
  /// have no verdict. References must outlive this.
  JoinWatch(kernel::Kernel& kernel, StudyProgress state, const std::set<std::size_t>& lost,
            Until until, const Report& report);

  void on_event(const sim::Event& event) override;

  /// Of the nodes that are in: from wanting to join. Where no rendezvous says that a node is in
  /// (static, etcd), it is when it has its ranks.
  [[nodiscard]] const std::vector<sim::Duration>& latencies() const { return latencies_; }
  /// From the first start until the last node was in.
  [[nodiscard]] sim::Duration whole() const { return whole_; }
  /// Likewise until the last had its ranks; nullopt: some have none.
  [[nodiscard]] std::optional<sim::Duration> formed() const;
  /// From when the last agent came to the exit barrier until the last has ended; nullopt: not all
  /// came, or not all have ended well.
  [[nodiscard]] std::optional<sim::Duration> barrier() const;

  std::uint64_t attempts = 0, conflicts = 0, bytes = 0, evictions = 0;

 private:
  struct Node {
    sim::WorldTime wants{};  ///< to join, since
    bool is_in = false;
    bool has_ranks = false;
    bool is_over = false;  ///< has its verdict, or gets none
  };

  void on_own_event(Node& node, const sim::Event& event);
  void is_in(Node& node, sim::WorldTime now);
  void has_ranks(Node& node, sim::WorldTime now);
  void is_over(Node& node);

  kernel::Kernel& kernel_;
  std::vector<Node> nodes_;
  StudyProgress state_;
  Until until_;
  const Report& report_;
  std::uint64_t events_ = 0;
  std::size_t open_ = 0;  ///< without their verdict
  std::size_t ranked_ = 0;
  std::size_t expected_ = 0;  ///< nodes that may get ranks
  std::optional<sim::WorldTime> first_;
  sim::WorldTime last_ranks_{};
  std::size_t at_barrier_ = 0, ended_well_ = 0;
  sim::WorldTime last_at_barrier_{}, last_end_{};
  std::vector<sim::Duration> latencies_;
  sim::Duration whole_{};
};

}  // namespace hooke::report
