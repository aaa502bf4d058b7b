// The order of the header.
#include "model/etcd/v2_parameters.h"

#include <charconv>

#include "sim/port/check.h"

namespace hooke::model {

std::string cleaned(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty()) out += "/" + std::string(part);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  HOOKE_CHECK(!out.ends_with('/'), "only the root ends in a slash");
  return out.empty() ? "/" : out;
}

bool is_set(const HttpQuery& query, const char* name) {
  const auto found = query.parameters.find(name);
  return found != query.parameters.end() && (found->second == "true" || found->second == "1");
}

const std::string* parameter(const HttpQuery& query, const char* name) {
  const auto found = query.parameters.find(name);
  return found == query.parameters.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::uint64_t index_of(const std::string* text, const char* name) {
  const auto index = text == nullptr ? std::optional<std::uint64_t>(0) : number_of(*text);
  if (!index) {
    throw EtcdV2Refusal{400, 203, "The given index in POST form is not a number",
                        std::string("invalid value for \"") + name + "\""};
  }
  return *index;
}

std::optional<EtcdV2Refusal> check_previous(const EtcdV2Tree::Node& node, const std::string* value,
                                            const std::string* index) {
  const std::uint64_t wanted = index_of(index, "prevIndex");
  const bool value_holds = value == nullptr || *value == node.value;
  const bool index_holds = index == nullptr || wanted == node.modified;
  if (value_holds && index_holds) return std::nullopt;
  std::string cause;
  if (!value_holds) cause = "[" + *value + " != " + node.value + "]";
  if (!index_holds) {
    cause += (cause.empty() ? "[" : " [") + std::to_string(wanted) +
             " != " + std::to_string(node.modified) + "]";
  }
  return EtcdV2Refusal{412, 101, "Compare failed", cause};
}

}  // namespace hooke::model
