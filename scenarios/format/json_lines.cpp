// A scanner that knows just enough of JSON to step over values.
#include "scenarios/format/json_lines.h"

#include <algorithm>

namespace hooke::scenario {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// Where that begins which `path`, not empty, names below the value here.
  std::optional<std::size_t> find(std::string_view path) {
    while (true) {
      skip_space();
      const char open = here();
      if (open != '{' && open != '[') return std::nullopt;
      ++at_;
      const auto found = enter(open == '{', path);
      if (!found || path.empty()) return found;
    }
  }

 private:
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  /// Stands at a quote, and behind the closing one afterwards.
  std::string_view string() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const std::size_t end = std::min(at_, text_.size());
    at_ = std::min(end + 1, text_.size());
    return text_.substr(begin, end - begin);
  }

  void skip_value() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = here();
      if (c == '"') {
        static_cast<void>(string());
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
    }
  }

  /// Behind the opening bracket: finds the member that is the first step of `path`, takes that step
  /// off `path`, and stands at the member's value.
  std::optional<std::size_t> enter(bool object, std::string_view& path) {
    for (std::size_t index = 0;; ++index) {
      skip_space();
      if (here() == '}' || here() == ']' || here() == '\0') return std::nullopt;
      const std::size_t begin = at_;
      const std::string number = std::to_string(index);
      std::string_view name = number;
      if (object) {
        name = string();
        at_ = std::min(text_.find(':', at_), text_.size() - 1) + 1;
      }
      // A name may have dots of its own.
      const bool whole = path == name;
      if (whole || (path.starts_with(name) && path.substr(name.size()).starts_with("."))) {
        path.remove_prefix(std::min(path.size(), name.size() + 1));
        return begin;
      }
      skip_value();
      if (here() == ',') ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::size_t> line_of(std::string_view text, std::string_view path) {
  if (path.empty()) return std::nullopt;
  const auto offset = Scanner(text).find(path);
  if (!offset) return std::nullopt;
  const std::string_view before = text.substr(0, *offset);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

std::optional<std::size_t> nearest_line_of(std::string_view text, std::string path) {
  for (std::size_t dot = path.rfind('.'); dot != std::string::npos; dot = path.rfind('.')) {
    if (const auto line = line_of(text, path)) return line;
    path.resize(dot);
  }
  return std::nullopt;
}

}  // namespace hooke::scenario
