// Which nodes of a state Python would hold as one object: it shows in the pickle's size, so it must
// not depend on whether a state travelled by reference or as bytes.
#include <gtest/gtest.h>

#include "model/rendezvous/dynamic/state_holder.h"
#include "model/rendezvous/state/state_codec.h"
#include "properties/unit/model/rendezvous/state_fixtures.h"

namespace hooke::model {
namespace {

class StillClock final : public sim::Clock {
 public:
  [[nodiscard]] sim::MonotonicTime monotonic_now() const override {
    return sim::MonotonicTime(std::chrono::seconds(1));
  }
  [[nodiscard]] sim::WallTime wall_now() const override { return wall_us(1'700'000'000'000'000); }
};

/// Accepts every write; keeps the value itself or only its bytes.
class KeepingBackend final : public RendezvousBackend {
 public:
  explicit KeepingBackend(bool bytes_only) : bytes_only_(bytes_only) {}
  [[nodiscard]] std::string name() const override { return "keeping"; }
  std::optional<StoredState> get_state() override {
    if (stored_.empty()) return std::nullopt;
    return StoredState{stored_, stored_};
  }
  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>&) override {
    stored_ = bytes_only_ ? sim::Value(bytes.bytes()) : bytes;
    return SetStateResult{stored_, stored_, true};
  }

 private:
  bool bytes_only_;
  sim::Value stored_;
};

/// Two nodes: a completes round 0 alone, b waits, a leaves, b and then a enter round 1.
std::string stored_after_a_rejoin(bool bytes_only) {
  StillClock clock;
  KeepingBackend backend(bytes_only);
  RendezvousSettings settings;
  settings.min_nodes = 2;
  settings.max_nodes = 3;
  settings.variant = Variant::torch_1_13;
  Decisions decisions(settings);
  const auto holder = [&](const char* addr) {
    return StateHolder(clock, backend, settings, decisions, NodeRef(NodeDesc{addr, 1, 0}), nullptr,
                       sim::Duration(0));
  };
  StateHolder a = holder("a");
  StateHolder b = holder("b");
  const auto act = [](StateHolder& node, Action action) {
    node.sync();
    node.change(action);
    node.sync();
  };
  act(a, Action::add_to_participants);
  act(a, Action::mark_rendezvous_complete);
  act(b, Action::add_to_wait_list);
  act(a, Action::remove_from_participants);
  act(b, Action::add_to_participants);
  act(a, Action::add_to_participants);
  return backend.get_state()->bytes.bytes();
}

TEST(ObjectIdentity, is_lost_by_a_node_that_comes_through_the_wait_list_as_in_python) {
  const StateRef state = decode_state(sim::Value(stored_after_a_rejoin(true)), Variant::torch_1_13);
  ASSERT_EQ(state->participants.size(), 2U);
  ASSERT_EQ(state->round, 1);
  const NodeRef& b = state->participants[0].node;
  const NodeRef& a = state->participants[1].node;
  EXPECT_FALSE(b.is_same_object(state->heartbeat(b)->node)) << "the heartbeat is from the wait";
  EXPECT_TRUE(a.is_same_object(state->heartbeat(a)->node)) << "both are from this join";
}

TEST(ObjectIdentity, is_the_same_for_states_that_travel_by_reference_and_as_bytes) {
  EXPECT_EQ(stored_after_a_rejoin(false), stored_after_a_rejoin(true));
}

/// A state of two nodes as read, the second of which then takes a seat under an object of its own.
std::size_t bytes_with_names(const std::string& one, const std::string& other) {
  RendezvousState state;
  state.round = 1;
  const NodeRef first(NodeDesc{one, 1, 0});
  const NodeRef second(NodeDesc{other, 2, 0});
  state.participants = {{first, 0}, {second.another_object(), 0}};
  state.last_heartbeats = {{first, wall_us(1'700'000'000'000'000)},
                           {second, wall_us(1'700'000'000'000'000)}};
  const sim::Value value =
      encode_state(std::make_shared<const RendezvousState>(state), Variant::torch_2_x);
  EXPECT_EQ(value.size(), value.bytes().size());
  EXPECT_EQ(*decode_state(sim::Value(value.bytes()), Variant::torch_2_x), state);
  return value.size();
}

// Sizes are those of CPython 3.11 with PyTorch 2.13 for the same objects.
TEST(ObjectIdentity, of_a_name_of_one_latin_1_character_is_that_of_every_equal_name) {
  EXPECT_EQ(bytes_with_names("a", "c"), 433U);
  EXPECT_EQ(bytes_with_names("a", "a"), 431U);
  EXPECT_EQ(bytes_with_names("\xc3\xa9", "\xc3\xa9"), 432U);
  EXPECT_EQ(bytes_with_names("", ""), 430U);
}

TEST(ObjectIdentity, of_a_longer_name_is_its_nodes_own) {
  EXPECT_EQ(bytes_with_names("\xc4\x80", "\xc4\x80"), 438U);
  EXPECT_EQ(bytes_with_names("aa", "aa"), 438U);
}

}  // namespace
}  // namespace hooke::model
