// Only what looks like a thread becomes an address: a reference is a text of a scenario file.
#include "reports/page/links.h"

#include <algorithm>
#include <cctype>

namespace hooke::report {

std::string thread_address(const std::string& reference) {
  if (reference.starts_with("https://")) return reference;
  const std::size_t hash = reference.find('#');
  if (hash == std::string::npos || hash + 1 == reference.size()) return "";
  const std::string repository = reference.substr(0, hash), number = reference.substr(hash + 1);
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto in_name = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  };
  const bool issue = std::count(repository.begin(), repository.end(), '/') == 1 &&
                     std::all_of(repository.begin(), repository.end(), in_name) &&
                     std::all_of(number.begin(), number.end(), digit);
  return issue ? "https://github.com/" + repository + "/issues/" + number : "";
}

}  // namespace hooke::report
