#pragma once
// The text forms of pickles that are not plain bytes.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hooke::model {

[[nodiscard]] bool is_ascii(std::string_view text);
/// UTF-8 as Python's pickle writes it: shortest forms up to U+10FFFF, lone surrogates included.
[[nodiscard]] bool is_pickle_utf8(std::string_view text);
/// UTF-8 of "raw unicode escape" (protocol 0): Latin-1 with \uXXXX and \UXXXXXXXX. nullopt: a
/// broken escape.
[[nodiscard]] std::optional<std::string> from_raw_unicode_escape(std::string_view text);
/// Begins and ends with one and the same quote.
[[nodiscard]] bool is_quoted(std::string_view text);
/// The text of a quoted Python string (protocol 0). nullopt: not quoted, or an escape other than
/// of a quote, a backslash, \n, \r, \t, \xHH.
[[nodiscard]] std::optional<std::string> from_quoted(std::string_view text);
/// One byte per code point of a UTF-8 text. nullopt: a code point above 255.
[[nodiscard]] std::optional<std::string> latin1_from_utf8(std::string_view text);
/// CPython keeps the empty text and each of one Latin-1 character once per process
/// (Objects/unicodeobject.c: unicode_get_empty, get_latin1_char), so that its pickler meets the
/// same object again where other equal texts are objects of their own. The number of such a text,
/// below kSharedTexts; nullopt for any other.
[[nodiscard]] std::optional<std::size_t> shared_text_number(std::string_view utf8);
inline constexpr std::size_t kSharedTexts = 257;

}  // namespace hooke::model
