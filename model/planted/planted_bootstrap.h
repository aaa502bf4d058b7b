#pragma once
// Mistakes about where the workers of a round meet, for tests of the oracle.

#include <string>
#include <utility>

#include "model/rendezvous/core/bootstrap.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: Bootstrap or HardenedBootstrap.
template <class Base>
class PlantedBootstrap final : public Base {
 public:
  PlantedBootstrap(sim::Ports& ports, std::string local_addr, const RendezvousSettings& settings)
      : Base(
            ports,
            settings.planted.has(Planted::bootstrap_loopback) ? "localhost" : std::move(local_addr),
            settings) {}

  RendezvousStoreInfo for_round(std::int64_t rank, Store& round_store) override {
    if (rank == 1 && has(Planted::bootstrap_second_member_tells)) rank = 0;
    if (this->cached_ && has(Planted::bootstrap_built_once)) return *this->cached_;
    return Base::for_round(rank, round_store);
  }

 protected:
  [[nodiscard]] bool serves_none() const override {
    return Base::serves_none() || has(Planted::bootstrap_store_each_round);
  }
  [[nodiscard]] std::uint16_t served_port() const override {
    return has(Planted::bootstrap_port_not_served) ? std::uint16_t{0} : Base::served_port();
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return this->planted_.has(mistake); }
};

}  // namespace hooke::model
