#pragma once
// The problem: every agent of a job reads the same stored bytes, and makes the same of them. Bytes
// that a server keeps carry what their first reader has made of them.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/port/buffer.h"

namespace hooke::model {

class StoredText final : public sim::Payload {
 public:
  explicit StoredText(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::size_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& bytes() const override { return bytes_; }

  /// What was made of these bytes in one of several ways; null until a reader puts it there. The
  /// ways are numbered by their readers: what is put under a number is always of one type, and
  /// depends on nothing but the bytes and the number. Valid until the next call.
  [[nodiscard]] std::shared_ptr<const void>& reading(int way) const {
    for (auto& [number, made] : readings_) {
      if (number == way) return made;
    }
    return readings_.emplace_back(way, nullptr).second;
  }

  // Ways of reading.
  static constexpr int kAsEtcdTransaction = -5;  ///< what an EtcdV3Client makes of that answer
  static constexpr int kAsEtcdRange = -4;        ///< what EtcdV3Client::get makes of it
  static constexpr int kAsLegacyState = -3;      ///< what decode_legacy_state makes of it
  static constexpr int kAsEtcdAnswer = -2;       ///< what a client of etcd's v2 API makes of it
  static constexpr int kAsBase64 = -1;           ///< what base64_decode makes of it
  static constexpr int kAsState = 0;  ///< and from there on: decode_state, for each variant

 private:
  std::string bytes_;
  mutable std::vector<std::pair<int, std::shared_ptr<const void>>> readings_;
};

}  // namespace hooke::model
