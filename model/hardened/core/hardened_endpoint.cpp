#include "model/hardened/core/hardened_endpoint.h"

#include <algorithm>
#include <stdexcept>

#include "model/rendezvous/core/endpoint.h"

namespace hooke::model {
namespace {

constexpr const char* kBlank = " \t\r\n";

}  // namespace

sim::Endpoint parse_unambiguous_endpoint(const std::string& given, std::uint16_t default_port) {
  const sim::Endpoint endpoint = parse_endpoint(given, default_port);
  const std::size_t first = given.find_first_not_of(kBlank);
  if (first == std::string::npos) return endpoint;
  const std::string text = given.substr(first, given.find_last_not_of(kBlank) - first + 1);
  const bool colons = endpoint.host.find(':') != std::string::npos;
  if (colons && text.front() != '[') {
    throw std::invalid_argument("the rendezvous endpoint \"" + text +
                                "\" is ambiguous: write an IPv6 address in brackets, [" + text +
                                "] or [ADDRESS]:PORT");
  }
  return endpoint;
}

std::string in_lower_case(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

}  // namespace hooke::model
