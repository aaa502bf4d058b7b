#pragma once
// States for the codec's tests: recorded ones, ones built by rule, and random ones.

#include <rapidcheck.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "model/rendezvous/state/state.h"

namespace hooke::model {

inline constexpr Variant kVariants[] = {Variant::torch_1_13, Variant::torch_2_x};

inline nlohmann::json read_wire_fixture(const std::string& name) {
  const char* const root = std::getenv("HOOKE_SOURCE_DIR");
  const std::string path =
      std::string(root == nullptr ? "." : root) + "/properties/conformance/wire/" + name;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  return nlohmann::json::parse(file);
}

/// The 25 recorded states of rdzv-state-blobs.json.
inline nlohmann::json recorded_states() {
  const nlohmann::json states = read_wire_fixture("rdzv-state-blobs.json").at("states");
  if (states.size() != 25) throw std::runtime_error("25 states are recorded");
  return states;
}

inline std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return out;
}

inline sim::WallTime wall_us(std::int64_t microseconds) {
  return sim::WallTime(std::chrono::microseconds(microseconds));
}

/// A node of a random state: names of all kinds and lengths, numbers of all widths.
inline NodeDesc any_node(std::size_t index, std::size_t name_length_max) {
  const std::int64_t pid = *rc::gen::oneOf(
      rc::gen::inRange<std::int64_t>(0, 300), rc::gen::inRange<std::int64_t>(65'000, 66'000),
      rc::gen::inRange<std::int64_t>(INT32_MAX - 2L, INT32_MAX + 3L),
      rc::gen::arbitrary<std::int64_t>());
  const auto length = *rc::gen::inRange<std::size_t>(0, name_length_max + 1);
  // Names of one character, which CPython shares, come again.
  static const std::vector<std::string> kShort{"a", "b", "\xc3\xa9", "\xc4\x80", ""};
  const bool is_short = *rc::gen::inRange(0, 3) == 0;
  return {is_short ? *rc::gen::elementOf(kShort) : std::to_string(index) + std::string(length, 'n'),
          is_short ? static_cast<std::int64_t>(index) : pid, *rc::gen::inRange<std::int64_t>(0, 3)};
}

/// Some other order, the same each time.
inline void shuffle(std::vector<Heartbeat>& heartbeats) {
  std::uint64_t random = 17;
  for (std::size_t i = heartbeats.size(); i > 1; --i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    std::swap(heartbeats[i - 1], heartbeats[(random >> 33U) % i]);
  }
}

/// A state of `members` different nodes spread over the lists, heartbeats in any order. Large
/// states take their nodes by rule: drawing thousands one by one would make the properties crawl.
inline RendezvousState any_state(std::size_t members, Variant variant) {
  RendezvousState state;
  state.round = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  state.complete = *rc::gen::arbitrary<bool>();
  state.closed = *rc::gen::arbitrary<bool>();
  state.aware_times = *rc::gen::arbitrary<bool>();
  const auto time = [] {
    return wall_us(*rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000'000));
  };
  if (*rc::gen::arbitrary<bool>()) state.deadline = time();
  const auto one_in = *rc::gen::inRange<std::size_t>(1, 9);
  const auto first_time = time();
  const auto rejoined = *rc::gen::inRange<std::size_t>(0, 3);
  const std::size_t drawn = std::min<std::size_t>(members, 60);
  for (std::size_t i = 0; i < members; ++i) {
    const std::size_t length_max = i % 40 == 7 ? 70'000 : 300;
    const NodeRef node(i < drawn ? any_node(i, length_max)
                                 : NodeDesc{"node-" + std::to_string(i), 1000, 0});
    const std::size_t list = i % one_in == 0 ? i / one_in % 4 : 0;
    if (list == 0) state.participants.push_back({node, static_cast<std::int64_t>(i)});
    if (list == 1) state.wait_list.push_back(node);
    if (list == 2 && variant == Variant::torch_2_x) state.redundancy_list.push_back(node);
    if (i % 11 != 5) {
      state.last_heartbeats.push_back(
          {i % 5 < rejoined ? node.another_object() : node,
           first_time + std::chrono::microseconds(static_cast<std::int64_t>(i) * 997)});
    }
  }
  if (*rc::gen::arbitrary<bool>()) state.last_heartbeats.change(shuffle);
  return state;
}

}  // namespace hooke::model
