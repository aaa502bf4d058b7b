// What a node tells of its exchanges with the backend: everything that another node's story could
// contradict, and nothing that did not happen.
#include "model/rendezvous/dynamic/state_witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>

#include "model/hardened/dynamic/hardened_decisions.h"
#include "model/hardened/dynamic/hardened_state_holder.h"
#include "model/observe/trace_events.h"
#include "model/planted/planted_state_holder.h"
#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/dynamic/state_holder.h"
#include "model/rendezvous/state/state_codec.h"
#include "properties/unit/model/rendezvous/state_fixtures.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MovedClock final : public sim::Clock {
 public:
  [[nodiscard]] sim::MonotonicTime monotonic_now() const override { return now; }
  [[nodiscard]] sim::WallTime wall_now() const override { return wall_us(1'700'000'000'000'000); }
  sim::MonotonicTime now{};
};

/// Each event as "kind expected>value began..ended" with spans in seconds and states by round.
class Lines final : public sim::Trace {
 public:
  sim::EventId emit(const sim::EventType& type,
                    std::initializer_list<sim::FieldValue> fields) override {
    EXPECT_EQ(type.name, "rendezvous.exchanged");
    const std::vector<sim::FieldValue> all(fields);
    const auto state = [&](std::size_t field) {
      const std::int64_t digest = all.at(field).number();
      for (std::int64_t round = 1; round < 20; ++round) {
        if (of_round(round).digest() == digest) return std::to_string(round);
      }
      return std::string(digest == 0 ? "-" : "?");
    };
    const auto seconds = [&](std::size_t field) {
      return std::to_string(sim::Duration(all.at(field).number()) / 1s);
    };
    EXPECT_EQ(all.at(0).text(), "job");
    lines.push_back(std::string(all.at(1).text()) + " " + state(2) + ">" + state(3) + " " +
                    seconds(4) + ".." + seconds(5));
    return {};
  }
  static RendezvousState of_round(std::int64_t round) {
    RendezvousState state;
    state.round = round;
    return state;
  }
  std::vector<std::string> lines;
};

class Witness : public testing::Test {
 protected:
  void at(sim::Duration time) { clock.now = sim::MonotonicTime(time); }
  sim::MonotonicTime ago(sim::Duration span) const { return clock.now - span; }
  void reads(std::int64_t round) {
    const RendezvousState state = Lines::of_round(round);
    witness.read(round == 0 ? nullptr : &state, ago(1s));
  }
  MovedClock clock;
  Lines trace;
  const std::string run_id = "job";
  StateWitness witness{trace, clock, run_id};
};

TEST_F(Witness, tells_the_first_and_the_last_look_at_a_state) {
  at(10s), reads(0);
  for (int i = 11; i < 20; ++i) at(i * 1s), reads(0);
  at(30s), reads(5);
  at(40s), reads(6);
  EXPECT_THAT(trace.lines,
              ElementsAre("read ->- 1..0", "read ->- 12..11", "read ->5 1..0", "read ->6 1..0"));
}

TEST_F(Witness, tells_what_a_write_replaced) {
  at(10s), reads(3);
  at(12s), reads(3);
  at(20s), witness.offered(Lines::of_round(4), true, ago(2s));
  at(30s), witness.offered(Lines::of_round(5), true, ago(2s));
  EXPECT_THAT(trace.lines,
              ElementsAre("read ->3 1..0", "read ->3 9..8", "write 3>4 2..0", "write 4>5 2..0"));
}

TEST_F(Witness, keeps_what_it_knew_when_it_is_unknown_whether_a_write_was_carried_out) {
  at(10s), reads(3);
  at(20s), witness.offered(Lines::of_round(4), false, ago(9s));
  at(30s), witness.offered(Lines::of_round(4), false, ago(9s));
  at(40s), reads(4);
  EXPECT_THAT(trace.lines, ElementsAre("read ->3 1..0", "attempt 3>4 9..0", "attempt 3>4 9..0",
                                       "read ->4 1..0"));
}

TEST_F(Witness, does_not_believe_that_a_write_was_lost_to_what_it_expected) {
  at(10s), reads(3);
  at(20s), witness.lost(Lines::of_round(3), ago(1s));
  at(30s), witness.lost(Lines::of_round(4), ago(1s));
  EXPECT_THAT(trace.lines, ElementsAre("read ->3 1..0", "read ->4 1..0"))
      << "the state may have been gone at 20 s";
}

TEST(StateDigest, tells_states_apart_and_survives_the_way_through_the_store) {
  RendezvousState state = Lines::of_round(1);
  const std::int64_t before = state.digest();
  EXPECT_EQ(state.digest(), before);
  RendezvousState copy = state;
  EXPECT_EQ(copy.digest(), before);
  RendezvousState other = state;
  other.participants.push_back({NodeRef(NodeDesc{"a", 1, 0}), 0});
  EXPECT_NE(other.digest(), before) << "a copy is made to be changed";
  RendezvousState waiting = state;
  waiting.wait_list.push_back(NodeRef(NodeDesc{"a", 1, 0}));
  RendezvousState spare = state;
  spare.redundancy_list.push_back(NodeRef(NodeDesc{"a", 1, 0}));
  EXPECT_NE(waiting.digest(), spare.digest());
  EXPECT_GT(before, 0);
  EXPECT_LT(before, std::int64_t{1} << 53U);
  const sim::Value bytes(
      encode_state(std::make_shared<const RendezvousState>(other), Variant::torch_2_x).bytes());
  EXPECT_EQ(decode_state(bytes, Variant::torch_2_x)->digest(), other.digest());
}

// ---- the holder tells it ------------------------------------------------------------------------

/// Answers a write as the test says.
class ScriptedBackend final : public RendezvousBackend {
 public:
  [[nodiscard]] std::string name() const override { return "scripted"; }
  std::optional<StoredState> get_state() override { return stored; }
  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>&) override {
    return on_write(bytes);
  }
  std::optional<StoredState> stored;
  std::function<std::optional<SetStateResult>(const sim::Value&)> on_write;
};

class Kinds final : public StateHolder::Observer {
 public:
  void on_write(const std::vector<PendingChange>&, const std::vector<DeadNode>&,
                std::optional<bool> is_accepted, std::size_t) override {
    accepted = is_accepted;
  }
  void on_own_death() override {}
  void on_read(const RendezvousState* stored, sim::MonotonicTime) override {
    told.push_back("read " + (stored == nullptr ? "-" : std::to_string(stored->round)));
  }
  void on_lost(const RendezvousState& stored, sim::MonotonicTime) override {
    told.push_back("lost to " + std::to_string(stored.round));
  }
  void on_offered(const RendezvousState& offered, bool certain, sim::MonotonicTime) override {
    told.push_back((certain ? "wrote " : "attempted ") + std::to_string(offered.round));
  }
  std::vector<std::string> told;
  std::optional<bool> accepted;  ///< the latest write
};

class Holder : public testing::Test {
 protected:
  static sim::Value stored_of(std::int64_t round) {
    return encode_state(std::make_shared<const RendezvousState>(Lines::of_round(round)),
                        Variant::torch_2_x);
  }
  /// What is told of a write of round 0 that is answered with `result`.
  std::vector<std::string> told_of(std::optional<SetStateResult> result) {
    Kinds kinds;
    PlantedStateHolder<StateHolder> holder(settings.planted, clock, backend, settings, decisions,
                                           NodeRef(NodeDesc{"a", 1, 0}), &kinds, 0s);
    backend.on_write = [&](const sim::Value& bytes) {
      if (result && result->has_set) result->bytes = bytes;
      return result;
    };
    holder.mark_dirty();
    holder.sync();
    return kinds.told;
  }
  MovedClock clock;
  ScriptedBackend backend;
  RendezvousSettings settings;
  Decisions decisions{settings};
};

TEST_F(Holder, tells_how_a_write_ended) {
  EXPECT_THAT(told_of(SetStateResult{{}, Token("t"), true, false}), ElementsAre("wrote 0"));
  EXPECT_THAT(told_of(SetStateResult{stored_of(7), Token("t"), false, false}),
              ElementsAre("lost to 7"));
  EXPECT_THAT(told_of(SetStateResult{stored_of(7), Token("t"), false, true}),
              ElementsAre("attempted 0", "lost to 7"))
      << "it may have been carried out before the state of round 7 was";
  EXPECT_THAT(told_of(std::nullopt), ElementsAre("attempted 0", "read -"));
}

TEST_F(Holder, tells_of_all_that_was_in_a_write_whose_answer_was_lost_and_which_stands_there) {
  const auto is_told = [&](std::int64_t round_there) {
    Kinds kinds;
    backend.stored = StoredState{stored_of(5), Token("s")};
    StateHolder holder(clock, backend, settings, decisions, NodeRef(NodeDesc{"a", 1, 0}), &kinds,
                       0s);
    backend.on_write = [&](const sim::Value& bytes) {
      const sim::Value there = round_there == 5 ? bytes : stored_of(round_there);
      return SetStateResult{there, Token("t"), false, true};
    };
    holder.sync();
    holder.change(Action::mark_rendezvous_closed);
    holder.sync();
    return kinds.accepted;
  };
  EXPECT_EQ(is_told(5), true);
  EXPECT_EQ(is_told(6), false);
}

TEST_F(Holder, tells_of_a_write_that_failed_that_it_is_unknown) {
  Kinds kinds;
  StateHolder holder(clock, backend, settings, decisions, NodeRef(NodeDesc{"a", 1, 0}), &kinds, 0s);
  backend.on_write = [](const sim::Value&) -> std::optional<SetStateResult> {
    throw RendezvousConnectionError("gone");
  };
  holder.sync();
  holder.mark_dirty();
  EXPECT_THROW(holder.sync(), RendezvousConnectionError);
  EXPECT_THAT(kinds.told, ElementsAre("read -", "attempted 0"));
}

/// A hardened node is alone in its rounds, and has seen round 5 before the backend loses it.
class HolderOfALostState : public Holder {
 protected:
  void see(bool complete) {
    RendezvousState state = Lines::of_round(5);
    state.complete = complete;
    const auto seen = std::make_shared<const RendezvousState>(state);
    backend.stored = StoredState{encode_state(seen, Variant::hardened), Token("t")};
    holder->sync();
  }
  void lose_it() {
    backend.stored.reset();
    backend.on_write = [](const sim::Value& bytes) {
      return SetStateResult{bytes, Token("u"), true, false};
    };
    holder->sync();
  }
  void SetUp() override {
    settings.variant = Variant::hardened;
    holder.emplace(clock, backend, settings, hardened, NodeRef(NodeDesc{"a", 1, 0}), &kinds, 0s);
  }
  Kinds kinds;
  HardenedDecisions hardened{settings, clock, NodeDesc{"a", 1, 0}};
  std::optional<HardenedStateHolder> holder;
};

TEST_F(HolderOfALostState, gives_a_complete_round_back_as_it_was) {
  see(true);
  lose_it();
  EXPECT_THAT(kinds.told, ElementsAre("read 5", "read -", "wrote 5"));
}

TEST_F(HolderOfALostState, begins_the_next_round_where_others_may_have_completed_it) {
  see(false);
  lose_it();
  EXPECT_THAT(kinds.told, ElementsAre("read 5", "read -", "wrote 6"));
}

TEST_F(HolderOfALostState, begins_the_next_round_where_it_could_not_complete_it_itself) {
  see(false);
  holder->change(Action::add_to_participants);
  EXPECT_TRUE(holder->state().complete);
  backend.on_write = [](const sim::Value&) -> std::optional<SetStateResult> {
    throw RendezvousConnectionError("gone");
  };
  EXPECT_THROW(holder->sync(), RendezvousConnectionError);
  lose_it();
  EXPECT_THAT(kinds.told, ElementsAre("read 5", "attempted 5", "read -", "wrote 6"));
}

TEST_F(Holder, believes_what_it_is_planted_to_believe_and_says_so) {
  settings.planted.add(Planted::rendezvous_lost_write_believed);
  EXPECT_THAT(told_of(SetStateResult{stored_of(7), Token("t"), false, false}),
              ElementsAre("wrote 0"));
}

}  // namespace
}  // namespace hooke::model
