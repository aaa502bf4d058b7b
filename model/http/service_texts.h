#pragma once
// The texts of HTTP as a server reads and writes them: what a target and a form say, the lines before
// an answer and around its pieces.

#include <cstddef>
#include <string>
#include <string_view>

#include "model/http/http_service.h"

namespace hooke::model {

/// The path and the query of a request, to `out`.
void add_target(std::string_view target, HttpQuery& out);
/// A form, or what follows the question mark of a target, to the parameters of `out`. Those that are
/// there already stay as they are.
void add_parameters(std::string_view text, HttpQuery& out);

/// The first lines of an answer, `last` behind them.
std::string head_of(int status, const HttpHeaders& headers, std::string_view last);
/// The whole head of an answer with a body of that size.
std::string head_of(int status, const HttpHeaders& headers, std::size_t body_bytes);

/// The line before a piece of a chunked body, which is not empty.
std::string chunk_line(std::size_t bytes);
/// One piece of a chunked body; nothing for an empty one, which would end it.
std::string chunk_of(const std::string& piece);

}  // namespace hooke::model
