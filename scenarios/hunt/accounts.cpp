#include "scenarios/hunt/accounts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "scenarios/format/json_reader.h"

namespace hooke::hunt {

using nlohmann::ordered_json;

namespace {

/// In the order of a row, between the id and what excused.
constexpr std::array kCounts{&properties::Account::kept, &properties::Account::broken,
                             &properties::Account::excused, &properties::Account::open,
                             &properties::Account::put_off};
constexpr std::size_t kRowLength = kCounts.size() + 2;

}  // namespace

void add(Accounts& ours, const Accounts& theirs) {
  for (const auto& [id, account] : theirs) ours[id].add(account);
}

ordered_json accounts_json(const Accounts& accounts) {
  ordered_json out = ordered_json::object();
  for (const auto& [id, account] : accounts) {
    out[id] = {{"kept", account.kept},       {"broken", account.broken},
               {"excused", account.excused}, {"open", account.open},
               {"put_off", account.put_off}, {"excused_by", account.excused_by}};
  }
  return out;
}

Accounts accounts_at(const scenario::Place& place) {
  const auto count = [](const scenario::Place& item) { return item.integer(0, INT64_MAX); };
  Accounts out;
  for (const auto& [id, item] : place.members()) {
    item.object({"kept", "broken", "excused", "open", "put_off", "excused_by"});
    properties::Account& account = out[id];
    account.kept = count(item.at("kept"));
    account.broken = count(item.at("broken"));
    account.excused = count(item.at("excused"));
    account.open = count(item.at("open"));
    account.put_off = count(item.at("put_off"));
    for (const auto& [by, times] : item.at("excused_by").members())
      account.excused_by[by] = count(times);
  }
  return out;
}

ordered_json account_rows(const Accounts& accounts) {
  ordered_json out = ordered_json::array();
  for (const auto& [id, account] : accounts) {
    ordered_json& row = out.emplace_back(ordered_json::array());
    row.get_ref<ordered_json::array_t&>().reserve(kRowLength);
    row.push_back(id);
    for (const std::int64_t properties::Account::*count : kCounts) row.push_back(account.*count);
    row.push_back(account.excused_by);
  }
  return out;
}

Accounts accounts_in_rows(const scenario::Place& place) {
  if (!place.json().is_array()) place.refuse_value("rows");
  Accounts out;
  for (const ordered_json& row : place.json()) {
    const auto is_count = [](const ordered_json& item) { return item.is_number_unsigned(); };
    const bool is_row = row.is_array() && row.size() == kRowLength && row.front().is_string() &&
                        std::all_of(row.begin() + 1, row.end() - 1, is_count) &&
                        row.back().is_object() &&
                        std::all_of(row.back().begin(), row.back().end(), is_count);
    if (!is_row) place.refuse_value("rows of an id, counts, and what excused how often");
    properties::Account& account = out[row.front().get<std::string>()];
    for (std::size_t i = 0; i < kCounts.size(); ++i) {
      account.*kCounts[i] = row[i + 1].get<std::int64_t>();
    }
    for (const auto& [by, times] : row.back().items()) {
      account.excused_by[by] = times.get<std::int64_t>();
    }
  }
  return out;
}

}  // namespace hooke::hunt
