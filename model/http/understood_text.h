#pragma once
// The problem: a client that polls asks the same again and again and is told the same, and each end
// makes out the same text every time. So a client that asks the same as last time sends the very
// same bytes, as does a service that tells the same, and these carry what the other end, where that
// is in the same program, made of them. Bytes that came over a real network carry nothing.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/port/buffer.h"

namespace hooke::model {

template <class Reading>
class UnderstoodText final : public sim::Payload {
 public:
  explicit UnderstoodText(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::size_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& bytes() const override { return bytes_; }

  /// What the bytes say, all of them and nothing else; null until a reader has put it there.
  [[nodiscard]] const std::shared_ptr<const Reading>& reading() const { return reading_; }
  void understand(std::shared_ptr<const Reading> reading) const { reading_ = std::move(reading); }

 private:
  std::string bytes_;
  mutable std::shared_ptr<const Reading> reading_;
};

/// What a service makes of a request is the service's.
struct UnderstoodQuery;

/// A whole request. Its body may be a value, of which no bytes are made for a service in the same
/// program.
class HttpRequestText final : public sim::Payload {
 public:
  /// `head`: all that comes before `body`.
  HttpRequestText(std::string head, sim::Value body)
      : head_(std::move(head)), body_(std::move(body)) {}
  [[nodiscard]] std::size_t size() const override { return head_.size() + body_.size(); }
  [[nodiscard]] const std::string& bytes() const override {
    if (body_.empty()) return head_;
    if (bytes_.empty()) bytes_ = head_ + body_.bytes();
    return bytes_;
  }
  [[nodiscard]] const std::string& head() const { return head_; }
  [[nodiscard]] const sim::Value& body() const { return body_; }

  /// As in UnderstoodText.
  [[nodiscard]] const std::shared_ptr<const UnderstoodQuery>& reading() const { return reading_; }
  void understand(std::shared_ptr<const UnderstoodQuery> reading) const {
    reading_ = std::move(reading);
  }

 private:
  std::string head_;
  sim::Value body_;
  mutable std::string bytes_;
  mutable std::shared_ptr<const UnderstoodQuery> reading_;
};

/// Names as they came.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

/// The head of an answer that says how long its body is.
struct HttpHead {
  int status = 0;
  std::shared_ptr<const HttpFields> fields;
  bool keeps_connection = false;
  std::uint64_t body_bytes = 0;
};
using HttpHeadText = UnderstoodText<HttpHead>;

/// The text of that kind that `bytes` begin with and of which nothing has been taken; null where
/// they begin with something else.
template <class Text>
std::shared_ptr<const Text> text_in_front(const sim::Buffer& bytes) {
  const sim::Value* const front = bytes.front_value();
  return front == nullptr ? nullptr : std::dynamic_pointer_cast<const Text>(front->payload());
}

}  // namespace hooke::model
