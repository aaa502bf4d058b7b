#pragma once
// The fixed parts of a page: page.css and page.js, which lie beside this file.

#include <string>

namespace hooke::report {

/// From the doctype to the beginning of the body.
std::string page_head(const std::string& title);
/// From there to the end.
std::string page_foot();

}  // namespace hooke::report
