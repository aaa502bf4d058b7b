#include "model/hardened/etcd/hardened_etcd_v2_backend.h"

#include "model/rendezvous/backends/etcd_tokens.h"
#include "sim/port/check.h"

namespace hooke::model {

std::optional<SetStateResult> HardenedEtcdV2Backend::set_state(const sim::Value& bytes,
                                                               const std::optional<Token>& token) {
  const auto fence = fence_in<std::uint64_t>(token);
  if (!fence) return present();
  return asked_of_etcd([&]() -> std::optional<SetStateResult> {
    bool in_doubt = false;
    try {
      return put(bytes, *fence);
    } catch (const EtcdError& error) {
      if (error.code() == EtcdV2Client::kKeyNotFound) return std::nullopt;
      if (!is_lost_race(error)) throw;
    } catch (const EtcdConnectionError& error) {
      if (!error.outcome_unknown()) throw;
      in_doubt = true;
    }
    // These very bytes, written since the token was read, are this call's.
    auto now = present();
    if (now && now->bytes == bytes && (!token || !(now->token == *token))) now->has_set = true;
    if (now) now->in_doubt = in_doubt && !now->has_set;
    HOOKE_CHECK(!now || !now->has_set || !now->in_doubt,
                "a write that has set the state is not in doubt");
    return now;
  });
}

EtcdV2Write HardenedEtcdV2Backend::write_of(const sim::Value& bytes, std::uint64_t fence) const {
  EtcdV2Write write = EtcdV2Backend::write_of(bytes, fence);
  if (write.previous_index && met_ && met_->first == fence) write.previous_value = met_->second;
  return write;
}

}  // namespace hooke::model
