#include "scenarios/hunt/accounts.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "scenarios/format/json_reader.h"

namespace hooke::hunt {

using nlohmann::ordered_json;

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

}  // namespace hooke::hunt
