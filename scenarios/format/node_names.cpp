// Ranges first, then what a cluster declares and a timeline selects.
#include "scenarios/format/node_names.h"

#include <algorithm>

#include "scenarios/format/fixed_names.h"
#include "scenarios/format/vocabulary.h"

namespace hooke::scenario {
namespace {

constexpr std::size_t kIdBytesMax = 64;
constexpr std::size_t kDigitsMax = 9;

constexpr const char* kDigits = "0123456789";

bool is_plain(const std::string& id) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return !id.empty() && id.size() <= kIdBytesMax &&
         id.find_first_not_of(plain) == std::string::npos;
}

bool is_role(const std::string& id) {
  return std::find(roles().begin(), roles().end(), id) != roles().end();
}

/// A name and the number at its end.
struct Numbered {
  std::string prefix;
  std::string digits;
};

Numbered split(const std::string& id) {
  const std::size_t end = id.find_last_not_of(kDigits) + 1;  // npos + 1 is 0
  return {id.substr(0, end), id.substr(end)};
}

std::vector<std::string> letters(char first, char last) {
  std::vector<std::string> out;
  for (int c = first; c <= last; ++c) out.emplace_back(1, static_cast<char>(c));
  return out;
}

}  // namespace

std::vector<std::string> expand_range(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return {};
  const std::string first = text.substr(0, dots);
  const std::string last = text.substr(dots + 2);
  if (first.size() == 1 && last.size() == 1 && first[0] >= 'a' && last[0] <= 'z') {
    return letters(first[0], last[0]);
  }
  const Numbered from = split(first);
  const Numbered to = split(last);
  if (from.prefix.empty() || from.prefix != to.prefix || from.digits.empty() || to.digits.empty())
    return {};
  if (from.digits.size() > kDigitsMax || to.digits.size() > kDigitsMax) return {};
  const bool padded = from.digits.size() > 1 && from.digits.front() == '0';
  if (padded && from.digits.size() != to.digits.size()) return {};
  const long long begin = std::stoll(from.digits);
  const long long end = std::stoll(to.digits);
  if (end - begin >= static_cast<long long>(kNodesMax)) return {};
  std::vector<std::string> out;
  for (long long i = begin; i <= end; ++i) {
    std::string digits = std::to_string(i);
    if (padded) digits.insert(0, from.digits.size() - digits.size(), '0');
    out.push_back(from.prefix + digits);
  }
  return out;
}

std::vector<std::string> NodeNames::declare(const Place& place) {
  const std::string text = place.text();
  std::vector<std::string> ids = expand_range(text);
  if (ids.empty()) ids = {text};
  for (const std::string& id : ids) {
    if (!is_plain(id)) {
      place.refuse_value(
          "a name of up to 64 letters, digits, - and _, or a range such as \"b..d\"");
    }
    if (is_role(id)) place.refuse("a node name that is no role", "\"" + id + "\"");
    if (id == kStoreMachine || id == kExternalStore)
      place.refuse("a node name that does not mean the external store", "\"" + id + "\"");
    if (!ids_.insert(id).second) place.refuse("each node once", "\"" + id + "\" a second time");
    if (ids_.size() > kNodesMax)
      place.refuse("at most " + std::to_string(kNodesMax) + " nodes", "more");
  }
  return ids;
}

void NodeNames::declare_group(const Place& place, const std::string& name,
                              std::vector<std::string> members) {
  const std::string got = "\"" + name + "\"";
  if (!is_plain(name)) place.refuse("a name of a group of up to 64 letters, digits, - and _", got);
  if (contains(name) || is_role(name) || name == kStoreMachine || name == kExternalStore)
    place.refuse("a name of a group that means nothing else", got);
  groups_[name] = std::move(members);
}

std::vector<std::string> NodeNames::named_by(const std::string& key) const {
  if (const auto group = groups_.find(key); group != groups_.end()) return group->second;
  std::vector<std::string> ids = expand_range(key);
  if (ids.empty()) ids = {key};
  return ids;
}

std::vector<std::string> NodeNames::select(const Place& place, Roles roles) const {
  const std::string text = place.text();
  if (const auto group = groups_.find(text); group != groups_.end()) return group->second;
  if (contains(text) || (roles == Roles::allowed && is_role(text))) return {text};
  std::vector<std::string> range = expand_range(text);
  if (range.empty()) refuse(place, "a node of the cluster", text, roles);
  for (const std::string& id : range) {
    if (!contains(id)) refuse(place, "nodes of the cluster", id, roles);
  }
  return range;
}

std::vector<std::string> NodeNames::select_all(const Place& place, Roles roles) const {
  if (place.json().is_string()) return select(place, roles);
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const Place& item : place.items()) {
    for (std::string& id : select(item, roles)) {
      if (!seen.insert(id).second) item.refuse("each node once", "\"" + id + "\" a second time");
      out.push_back(std::move(id));
    }
  }
  if (out.empty()) place.refuse_value("at least one node");
  return out;
}

void NodeNames::refuse(const Place& place, const std::string& expected, const std::string& id,
                       Roles roles) const {
  std::vector<std::string> known(ids_.begin(), ids_.end());
  for (const auto& [name, members] : groups_) known.push_back(name);
  if (roles == Roles::allowed) {
    known.insert(known.end(), scenario::roles().begin(), scenario::roles().end());
  }
  place.refuse_word(expected, id, known);
}

}  // namespace hooke::scenario
