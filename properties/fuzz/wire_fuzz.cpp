// Bytes at the store's port: whatever arrives, and however it is cut into pieces, is either a
// request, the beginning of one, or refused; and the pieces do not change what it means. The first
// byte of an input chooses the dialect.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "model/store/wire.h"

namespace {

using hooke::model::Request;
using hooke::model::Variant;

std::string text_of(const Request& request) {
  std::string out = std::to_string(static_cast<int>(request.query)) + "|" + request.key + "|" +
                    request.value.bytes() + "|" + request.expected.bytes() + "|" +
                    std::to_string(request.number);
  for (const std::string& key : request.keys) out += "|" + key;
  for (const auto& [key, value] : request.items) out += "|" + key + "=" + value.bytes();
  return out;
}

/// All requests in `bytes`, fed in pieces of `step` bytes; ends with "!" when the bytes were
/// refused.
std::vector<std::string> requests_in(const std::string& bytes, std::size_t step, Variant dialect) {
  std::vector<std::string> out;
  hooke::sim::Buffer buffer;
  try {
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      buffer.append(bytes.substr(i, step));
      while (auto request = hooke::model::take_request(buffer, dialect))
        out.push_back(text_of(*request));
    }
  } catch (const hooke::model::WireError&) {
    out.emplace_back("!");
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 4096) return 0;
  const Variant dialect = data[0] % 2 == 0 ? Variant::torch_2_x : Variant::torch_1_13;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = requests_in(bytes, bytes.size() + 1, dialect);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
    if (requests_in(bytes, step, dialect) != whole) std::abort();
  }
  return 0;
}
