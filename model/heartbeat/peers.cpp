// Two encodings of the same: for programs of any language, and short for a store.
#include "model/heartbeat/peers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::array kLives{WorkerLife::alive, WorkerLife::silent, WorkerLife::ended,
                            WorkerLife::unknown};

[[noreturn]] void refuse_peers(const std::string& what) {
  throw std::invalid_argument("the list of workers: " + what);
}

/// Puts `life` at each of the ranks; a rank that has one already is in two lists.
void read_ranks(const nlohmann::json& ranks, WorkerLife life,
                std::vector<std::optional<WorkerLife>>& out) {
  const std::string place = "/" + std::string(to_string(life));
  if (!ranks.is_array()) refuse_peers(place + " must be a list of ranks");
  for (const nlohmann::json& each : ranks) {
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() >= kPeersMax) {
      refuse_peers(place + " must be a list of ranks");
    }
    const auto rank = each.get<std::size_t>();
    if (rank >= out.size()) out.resize(rank + 1);
    if (out[rank]) refuse_peers("rank " + std::to_string(rank) + " is in two lists");
    out[rank] = life;
  }
}

/// Takes the number that `text` begins with, and the blank behind it.
template <class Integer>
bool take_number(std::string_view& text, Integer& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr == text.data() + text.size() || *read.ptr != ' ') {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()) + 1);
  return true;
}

}  // namespace

std::string_view to_string(WorkerLife life) {
  switch (life) {
    case WorkerLife::unknown: return "unknown";
    case WorkerLife::alive: return "alive";
    case WorkerLife::silent: return "silent";
    case WorkerLife::ended: return "ended";
  }
  return "?";
}

std::optional<WorkerLife> worker_life_from(std::string_view word) {
  const auto found = std::find_if(kLives.begin(), kLives.end(),
                                  [&](WorkerLife life) { return to_string(life) == word; });
  return found == kLives.end() ? std::nullopt : std::optional(*found);
}

std::string encode_peers(const WorkerLives& lives) {
  std::string out = "{";
  std::size_t listed = 0;
  for (const WorkerLife life : kLives) {
    std::string ranks;
    for (std::size_t rank = 0; rank < lives.size(); ++rank) {
      if (lives[rank] != life) continue;
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
      ++listed;
    }
    out += (out.size() == 1 ? "\"" : ", \"") + std::string(to_string(life)) + "\": [" + ranks + "]";
  }
  HOOKE_CHECK(listed == lives.size(), "each worker is in one list");
  return out + "}";
}

WorkerLives parse_peers(std::string_view line) {
  const nlohmann::json document = nlohmann::json::parse(line, nullptr, false);
  if (!document.is_object()) refuse_peers("a JSON object was expected");
  std::vector<std::optional<WorkerLife>> read;
  for (const WorkerLife life : kLives) {
    const auto ranks = document.find(to_string(life));
    if (ranks != document.end()) read_ranks(*ranks, life, read);
  }
  HOOKE_CHECK(read.size() <= static_cast<std::size_t>(kPeersMax), "no group has more workers");
  WorkerLives out;
  for (std::size_t rank = 0; rank < read.size(); ++rank) {
    if (!read[rank]) refuse_peers("rank " + std::to_string(rank) + " is in no list");
    out.push_back(*read[rank]);
  }
  return out;
}

std::string encode_told(const ToldByAgent& told) {
  std::string out = std::to_string(told.base_rank) + " " + std::to_string(told.count) + " ";
  for (const WorkerLife life : told.lives) out += to_string(life).front();
  return out;
}

std::optional<ToldByAgent> parse_told(const std::string& text) {
  ToldByAgent out;
  std::string_view rest = text;
  if (!take_number(rest, out.base_rank) || !take_number(rest, out.count) || out.base_rank < 0) {
    return std::nullopt;
  }
  for (const char letter : rest) {
    const auto life = std::find_if(kLives.begin(), kLives.end(), [&](WorkerLife each) {
      return to_string(each).front() == letter;
    });
    if (life == kLives.end()) return std::nullopt;
    out.lives.push_back(*life);
  }
  return out;
}

}  // namespace hooke::model
