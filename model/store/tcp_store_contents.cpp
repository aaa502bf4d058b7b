// Each change asks the account first and is done only when it is allowed.
#include "model/store/tcp_store_contents.h"

#include <algorithm>

#include "model/store/decimal.h"
#include "sim/port/check.h"

namespace hooke::model {

const sim::Value* StoreContents::find(const std::string& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &found->second.read();
}

std::size_t StoreContents::size_of(const std::string& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? 0 : found->second.size();
}

bool StoreContents::all_present(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(),
                     [this](const std::string& key) { return present(key); });
}

std::optional<std::int64_t> StoreContents::number_at(const std::string& key) const {
  const sim::Value* found = find(key);
  return found == nullptr ? 0 : leading_number(found->bytes());
}

bool StoreContents::put(const std::string& key, sim::Value value) {
  const auto at = keys_.lower_bound(key);
  if (at != keys_.end() && at->first == key) {
    if (!account_.hold(value.size(), at->second.size())) return false;
    at->second.replace(std::move(value));
    return true;
  }
  if (!account_.hold(entry_bytes(key) + value.size())) return false;
  HOOKE_CHECK(account_.held() >= entry_bytes(key) + value.size(),
              "what is kept was counted before");
  keys_.emplace_hint(at, key, std::move(value));
  return true;
}

bool StoreContents::append(const std::string& key, const sim::Value& value) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return put(key, value);
  if (!account_.hold(value.size())) return false;
  found->second.append(value.bytes());
  return true;
}

bool StoreContents::has_room_for(const std::vector<std::pair<std::string, sim::Value>>& items) {
  std::uint64_t at_most = 0;
  for (const auto& [key, value] : items) at_most += entry_bytes(key) + value.size();
  if (account_.has_room(at_most)) return true;  // and nothing has to be looked up
  std::uint64_t growth = 0;
  for (const auto& [key, value] : items) {
    const auto old = keys_.find(key);
    if (old == keys_.end()) {
      growth += entry_bytes(key) + value.size();
    } else if (value.size() > old->second.size()) {
      growth += value.size() - old->second.size();
    }
  }
  HOOKE_CHECK(growth <= at_most, "what is there already costs no more than what is new");
  return account_.allows_growth(growth);
}

std::int64_t StoreContents::erase(const std::string& key) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return 0;
  account_.release(entry_bytes(key) + found->second.size());
  keys_.erase(found);
  return 1;
}

bool StoreContents::push(const std::string& queue, sim::Value value) {
  if (!account_.hold(entry_bytes(queue) + value.size())) return false;
  HOOKE_CHECK(account_.held() >= entry_bytes(queue) + value.size(),
              "what is kept was counted before");
  queues_[queue].push_back(std::move(value));
  return true;
}

std::optional<sim::Value> StoreContents::pop(const std::string& queue) {
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return std::nullopt;
  HOOKE_CHECK(!found->second.empty(), "no queue of the server is empty");
  sim::Value oldest = std::move(found->second.front());
  account_.release(entry_bytes(queue) + oldest.size());
  found->second.pop_front();
  if (found->second.empty()) queues_.erase(found);
  return oldest;
}

std::size_t StoreContents::queue_length(const std::string& queue) const {
  const auto found = queues_.find(queue);
  HOOKE_CHECK(found == queues_.end() || !found->second.empty(), "no queue of the server is empty");
  return found == queues_.end() ? 0 : found->second.size();
}

const std::string& StoreWaits::first_key() const {
  HOOKE_CHECK(!waiting_.empty(), "some key is waited for");
  return waiting_.begin()->first;
}

const StoreWaits::Waiters* StoreWaits::find(const std::string& key) const {
  const auto found = waiting_.find(key);
  HOOKE_CHECK(found == waiting_.end() || !found->second.empty(),
              "a key that is waited for has a waiter");
  return found == waiting_.end() ? nullptr : &found->second;
}

bool StoreWaits::add(const std::string& key, std::uint64_t connection) {
  HOOKE_CHECK(connection > 0, "connections are numbered from 1");
  if (!account_.hold(entry_bytes(key))) return false;
  waiting_[key].push_back(connection);
  return true;
}

void StoreWaits::withdraw(const std::string& key, std::uint64_t connection) {
  const auto found = waiting_.find(key);
  HOOKE_CHECK(found != waiting_.end(), "a registered key is one that is waited for");
  const std::size_t withdrawn = std::erase(found->second, connection);
  HOOKE_CHECK(withdrawn > 0, "a wait that is withdrawn was begun");
  account_.release(entry_bytes(key) * withdrawn);
  if (found->second.empty()) waiting_.erase(found);
}

void StoreWaits::withdraw_all(const std::string& key) {
  const auto found = waiting_.find(key);
  HOOKE_CHECK(found != waiting_.end(), "a key whose waits end is one that is waited for");
  HOOKE_CHECK(!found->second.empty(), "a key that is waited for has a waiter");
  account_.release(entry_bytes(key) * found->second.size());
  waiting_.erase(found);
}

}  // namespace hooke::model
