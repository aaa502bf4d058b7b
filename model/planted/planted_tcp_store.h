#pragma once
// Mistakes of a TCPStore, its client and its server, for tests of the oracle.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "model/store/tcp_store_client.h"
#include "model/store/tcp_store_service.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: TcpStoreClient or HardenedTcpStoreClient.
template <class Base>
class PlantedTcpStoreClient final : public Base {
 public:
  template <class... Arguments>
  explicit PlantedTcpStoreClient(PlantedSet planted, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), planted_(planted) {}

 protected:
  [[nodiscard]] std::optional<sim::MonotonicTime> wait_end(sim::Duration timeout) const override {
    if (planted_.has(Planted::store_waits_for_ever)) return std::nullopt;
    return Base::wait_end(timeout);
  }

 private:
  PlantedSet planted_;
};

class PlantedTcpStoreService final : public TcpStoreService {
 public:
  template <class... Arguments>
  explicit PlantedTcpStoreService(PlantedSet planted, Arguments&&... arguments)
      : TcpStoreService(std::forward<Arguments>(arguments)...), planted_(planted) {}

 protected:
  [[nodiscard]] std::optional<std::string> woken_instead() const override {
    if (waits_.empty() || !has(Planted::store_wakes_for_any_key)) return std::nullopt;
    return std::string(waits_.first_key());
  }
  [[nodiscard]] bool wakes(bool is_first) const override {
    return is_first || !has(Planted::store_wakes_one_waiter);
  }
  [[nodiscard]] bool is_as_expected(const Value& present, const Value& expected) const override {
    return has(Planted::store_compare_ignored) ||
           TcpStoreService::is_as_expected(present, expected);
  }
  [[nodiscard]] std::int64_t answer_to_add(std::int64_t before, std::int64_t sum) const override {
    return has(Planted::store_add_answers_old) ? before : sum;
  }
  [[nodiscard]] std::size_t written_of(std::size_t items) const override {
    return items > 1 && has(Planted::store_multi_set_drops_last) ? items - 1 : items;
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return planted_.has(mistake); }

  PlantedSet planted_;
};

}  // namespace hooke::model
