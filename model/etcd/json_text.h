#pragma once
// JSON between etcd and its clients, read and written several times faster than the library does:
// a simulated world spends more on these texts than on anything else.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace hooke::model {

/// What `json::parse(text)` makes of an object or an array, read by RapidJSON. Nullopt where that
/// library has to be asked, for right and wrong texts: a value of another kind, escapes by number,
/// zero bytes, fractions, numbers of more than 64 bits, and what is no JSON.
std::optional<nlohmann::json> plain_json(std::string_view text);

/// `json::parse(text, nullptr, false)`: a value that is_discarded() where the text is no JSON.
nlohmann::json json_or_discarded(const std::string& text);

/// `document.dump()`; throws what that throws.
std::string json_text(const nlohmann::json& document);
std::string json_text(const nlohmann::ordered_json& document);

/// Appends `text` between quotes, escaped as dump() does. json::type_error where it is not UTF-8.
void append_json_text(std::string& out, std::string_view text);
void append_json_number(std::string& out, std::int64_t number);
void append_json_number(std::string& out, std::uint64_t number);

}  // namespace hooke::model
