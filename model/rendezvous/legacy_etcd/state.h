#pragma once
// What the legacy etcd rendezvous keeps under active_version
// (torch/distributed/elastic/rendezvous/etcd_rendezvous.py).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/port/buffer.h"

namespace hooke::model {

/// The largest number that is read from etcd. A JSON number holds it, and the one that follows.
constexpr std::int64_t kLargestLegacyNumber = (std::int64_t{1} << 53) - 2;

struct LegacyState {
  enum class Status : unsigned char { setup, joinable, frozen, final_, closed };
  Status status = Status::setup;
  std::optional<std::int64_t> version;
  std::optional<std::vector<std::int64_t>> participants;
  std::optional<std::vector<std::string>> keep_alives;  ///< paths of keys, by order of arrival
  std::optional<std::int64_t> num_workers_waiting;
  friend bool operator==(const LegacyState&, const LegacyState&) = default;
};

/// A version that no agent has joined yet.
LegacyState joinable_legacy_state(std::int64_t version);

/// As Python's json.dumps writes it.
std::string encode_legacy_state(const LegacyState& state);
/// std::invalid_argument naming the byte or the member that is wrong.
LegacyState parse_legacy_state(std::string_view text);

/// Likewise of `text`, once for all readers where `shared` is what they share (stored_text.h).
std::shared_ptr<const LegacyState> decode_legacy_state(const sim::Value& shared,
                                                       const std::string& text);

/// A version, or how many there have been, as a text of digits. std::invalid_argument naming
/// `place`.
std::int64_t parse_legacy_version(std::string_view text, std::string_view place);

}  // namespace hooke::model
