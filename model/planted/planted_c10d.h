#pragma once
// Mistakes about the c10d store and the state in it, for tests of the oracle.

#include <memory>
#include <string>
#include <utility>

#include "model/rendezvous/backends/c10d_backend.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: C10dBackend or HardenedC10dBackend.
template <class Base>
class PlantedC10dBackend final : public Base {
 public:
  PlantedC10dBackend(PlantedSet planted, std::shared_ptr<Store> store, const std::string& run_id)
      : Base(std::move(store), run_id), planted_(planted) {
    if (planted_.has(Planted::c10d_state_reset_at_start)) this->overwrite(this->sentinel());
  }

 protected:
  sim::Value write(const sim::Value& expected, const sim::Value& offered) override {
    if (!planted_.has(Planted::rendezvous_write_without_compare))
      return Base::write(expected, offered);
    this->overwrite(offered);
    return offered;
  }

 private:
  PlantedSet planted_;
};

/// `Base`: C10dStoreCreation or HardenedC10dStoreCreation.
template <class Base>
class PlantedC10dStoreCreation final : public Base {
 public:
  using Base::Base;

 protected:
  [[nodiscard]] bool is_own(const std::string& host) const override {
    return has(Planted::c10d_everyone_hosts) || Base::is_own(host);
  }
  [[nodiscard]] bool hosts_when_unreachable() const override {
    return has(Planted::c10d_hosts_when_unreachable) || Base::hosts_when_unreachable();
  }
  void adapt(TcpStoreOptions& options, bool serves) const override {
    if (serves && has(Planted::c10d_everyone_hosts)) options.endpoint.host = "localhost";
    Base::adapt(options, serves);
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return this->parameters_.planted.has(mistake); }
};

}  // namespace hooke::model
