// Parsing and matching of host names.
#include "model/rendezvous/core/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <stdexcept>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_host_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || byte >= 0x80 || c == '_' || c == '.' || c == ':' || c == '-';
}

std::uint16_t parse_port(const std::string& digits, const std::string& text) {
  const bool plausible =
      !digits.empty() && digits.size() <= 5 &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int number = plausible ? std::stoi(digits) : 65'536;
  if (number >= 65'536) {
    throw std::invalid_argument("the port number of the rendezvous endpoint \"" + text +
                                "\" must be an integer between 0 and 65535");
  }
  HOOKE_CHECK(number >= 0, "digits are read without a sign");
  return static_cast<std::uint16_t>(number);
}

/// A literal address in the form in which all others of it are compared (Python: ipaddress).
struct Address {
  std::string text;
  bool is_loopback = false;
};

std::optional<Address> address_of(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, host.c_str(), bytes.data()) != 1) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const char* const written = inet_ntop(family, bytes.data(), text.data(), text.size());
    HOOKE_CHECK(written != nullptr, "an address that was read can be written");
    const std::string out = text.data();
    HOOKE_CHECK(!out.empty(), "an address is written as some text");
    return Address{out, family == AF_INET ? bytes.front() == 127 : out == "::1"};
  }
  return std::nullopt;
}

}  // namespace

sim::Endpoint parse_endpoint(const std::string& given, std::uint16_t default_port) {
  const std::string text = trimmed(given);
  if (text.empty()) return {"localhost", sim::PortNumber{default_port}};
  std::string host = text;
  std::uint16_t port = default_port;
  const std::size_t colon = text.rfind(':');
  const bool bracketed = text.front() == '[' && text.back() == ']';
  if (!bracketed && colon != std::string::npos) {
    host = text.substr(0, colon);
    port = parse_port(text.substr(colon + 1), text);
  }
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (host.empty() || !std::all_of(host.begin(), host.end(), is_host_character)) {
    throw std::invalid_argument(
        "the hostname of the rendezvous endpoint \"" + text +
        "\" must be a dot-separated list of labels, an IPv4 or an IPv6 address");
  }
  return {host, sim::PortNumber{port}};
}

std::string as_written(std::string name) {
  return name;
}

bool matches_this_machine(sim::Network& network, const std::string& given, Variant variant,
                          const NameForm& as_compared) {
  HOOKE_CHECK(as_compared != nullptr, "names are compared in some form");
  const std::string host = as_compared(given);
  if (host == "localhost") return true;
  const std::optional<Address> literal = address_of(host);
  if (literal && literal->is_loopback) return true;
  std::vector<std::string> host_addresses;  // 1.13 does not ask for them
  if (resolves_the_endpoint(variant)) {
    if (auto found = network.resolve(host)) host_addresses = std::move(found).value();
  }
  const std::string own = network.host_name();
  if (host == as_compared(own)) return true;
  const auto own_addresses = network.resolve(own);
  if (!own_addresses)
    throw std::runtime_error("this machine's own name cannot be resolved: " + own);
  const auto canonical = network.canonical_name(own);
  if (canonical && as_compared(canonical.value()) == host) return true;
  for (const std::string& address : own_addresses.value()) {
    if (literal && literal->text == address) return true;
    if (std::find(host_addresses.begin(), host_addresses.end(), address) != host_addresses.end()) {
      return true;
    }
  }
  return false;
}

}  // namespace hooke::model
