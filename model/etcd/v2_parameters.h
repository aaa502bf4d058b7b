#pragma once
// What a request of etcd's v2 API says: its key and its parameters.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/etcd/v2_tree.h"
#include "model/http/http_service.h"

namespace hooke::model {

/// The key of a path, in one spelling: "/a//b/" is "/a/b".
std::string cleaned(std::string_view path);
/// A parameter that is "true" or "1".
bool is_set(const HttpQuery& query, const char* name);
/// Null for a parameter that the request does not have.
const std::string* parameter(const HttpQuery& query, const char* name);
/// The whole text as a number; nullopt for anything else.
std::optional<std::uint64_t> number_of(const std::string& text);
/// An index as a parameter; 0 where there is none. EtcdV2Refusal 203 for what is no number.
std::uint64_t index_of(const std::string* text, const char* name);
/// The refusal 101 unless the node has this value and index; null: any. EtcdV2Refusal 203 for an
/// index that is no number.
[[nodiscard]] std::optional<EtcdV2Refusal> check_previous(const EtcdV2Tree::Node& node,
                                                          const std::string* value,
                                                          const std::string* index);

}  // namespace hooke::model
