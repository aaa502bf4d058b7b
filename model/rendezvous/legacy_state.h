#pragma once
// What the legacy etcd rendezvous keeps under active_version
// (torch/distributed/elastic/rendezvous/etcd_rendezvous.py; spec/legacy-etcd.md 3).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hooke::model {

struct LegacyState {
  enum class Status : unsigned char { setup, joinable, frozen, final_, closed };
  Status status = Status::setup;
  std::optional<std::string> version;  ///< a number as text
  std::optional<std::vector<std::int64_t>> participants;
  std::optional<std::vector<std::string>> keep_alives;  ///< paths of keys, by order of arrival
  std::optional<std::int64_t> num_workers_waiting;
  friend bool operator==(const LegacyState&, const LegacyState&) = default;
};

/// As Python's json.dumps writes it.
std::string encode_legacy_state(const LegacyState& state);
/// std::invalid_argument naming the byte or the member that is wrong.
LegacyState parse_legacy_state(std::string_view text);

/// The extra data of a version: an object of texts. std::invalid_argument for anything else.
std::string encode_texts(const std::map<std::string, std::string>& texts);
std::map<std::string, std::string> parse_texts(std::string_view text);

}  // namespace hooke::model
