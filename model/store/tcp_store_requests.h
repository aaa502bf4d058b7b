#pragma once
// The problem: agents poll a store, all of them with the same few requests, and each is parsed anew,
// texts and lists and all. A server remembers the latest questions, by their bytes, with what they say.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "model/store/wire.h"
#include "sim/port/buffer.h"

namespace hooke::model {

class FamiliarRequests {
 public:
  /// What all of `bytes` say, if that is one of the requests that are remembered; null: it is not, or
  /// does not lie in one piece.
  [[nodiscard]] const Request* find(const sim::Buffer& bytes, Variant dialect) const {
    const std::string_view text = text_of(bytes);
    for (const Known& known : known_) {
      if (!text.empty() && known.text == text && known.dialect == dialect) return &known.request;
    }
    return nullptr;
  }

  /// The text to remember a request by if it is all that `bytes` are; empty: too long, or in pieces.
  [[nodiscard]] static std::string_view text_of(const sim::Buffer& bytes) {
    constexpr std::size_t kLongest = 256;
    const std::string_view text = bytes.front_text();
    return text.size() == bytes.size() && text.size() <= kLongest ? text : std::string_view();
  }
  /// `text` says `request`, which is remembered in place of an older one if it is a question.
  void remember(std::string text, Variant dialect, Request request) {
    const bool asks = request.query == Query::get || request.query == Query::wait ||
                      request.query == Query::check;
    if (!asks || text.empty()) return;
    known_[next_] = {std::move(text), dialect, std::move(request)};
    next_ = (next_ + 1) % known_.size();
  }

 private:
  struct Known {
    std::string text;
    Variant dialect{};
    Request request;
  };

  std::array<Known, 4> known_;
  std::size_t next_ = 0;
};

}  // namespace hooke::model
