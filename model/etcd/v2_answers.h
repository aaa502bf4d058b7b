#pragma once
// The problem: after each change all clients of a job ask for the same directory, and each would be
// written the same text and read it. What etcd's v2 API answers carries what it says, so that a
// reader in the same program need not parse it.

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "model/etcd/v2_tree.h"
#include "model/http/http_service.h"
#include "sim/port/buffer.h"

namespace hooke::model {

/// What `text` says of `key`, which is in `tree` as the text has it. Of a key its readers are told
/// by the side; of a directory that is not listed the first of its readers tells the others.
sim::Value told_with(std::string text, const EtcdV2Tree& tree, const std::string& key);

/// What a client is told of a refusal when the tree's index is `index`.
sim::Value told_refusal(const EtcdV2Refusal& refusal, std::uint64_t index);

/// Answers to GETs of one tree, each made once for all that ask while it is true.
class EtcdV2Answers {
 public:
  struct Answer {
    int status = 0;
    sim::Value body{};
  };
  /// That a key is not there is an answer, too. Valid until the next call.
  const Answer& get(const EtcdV2Tree& tree, const std::string& key, bool recursive,
                    sim::MonotonicTime now);
  /// Of any answer at that index. Valid until the next call.
  const HttpHeaders& headers(std::uint64_t index);

 private:
  struct Told {
    Answer answer;
    sim::MonotonicTime until;
  };
  std::map<std::pair<std::string, bool>, Told> told_;  ///< by key, and whether all below it is told
  std::uint64_t index_ = 0;                            ///< the tree's, when they were made
  HttpHeaders headers_;
  std::uint64_t headers_at_ = 0;
};

}  // namespace hooke::model
