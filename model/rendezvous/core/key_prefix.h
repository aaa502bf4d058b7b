#pragma once
// Where in a store the keys of a job are.

#include <cstdint>
#include <string>

namespace hooke::model {

/// What is put before the keys of one round, whatever the backend: the store of that round.
std::string round_prefix(const std::string& run_id, std::int64_t round);

/// What is put before the keys that agents of this project share beside the rendezvous state.
std::string job_prefix(const std::string& run_id);

}  // namespace hooke::model
