#pragma once
// Mistakes about the state in etcd, for tests of the oracle.

#include <cstdint>
#include <optional>

#include "model/rendezvous/backends/etcd_v2_backend.h"
#include "model/rendezvous/backends/etcd_v3_backend.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// A mistake of both, Planted::etcd_write_without_fence: a write replaces any state. `Base`:
/// EtcdV2Backend or HardenedEtcdV2Backend.
template <class Base>
class UnfencedEtcdV2Backend final : public Base {
 public:
  using Base::Base;

 protected:
  [[nodiscard]] EtcdV2Write write_of(const sim::Value& bytes, std::uint64_t fence) const override {
    EtcdV2Write write = Base::write_of(bytes, fence);
    write.previous_index.reset();
    write.previous_value.reset();
    return write;
  }
};

/// `Base`: EtcdV3Backend or HardenedEtcdV3Backend.
template <class Base>
class UnfencedEtcdV3Backend final : public Base {
 public:
  using Base::Base;

 protected:
  std::int64_t fence_of(const std::optional<Token>& /*token*/) override {
    return this->present_revision();
  }
};

}  // namespace hooke::model
