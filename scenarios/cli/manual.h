#pragma once
// Manual pages, from the same descriptions as --help.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hooke::cli {

/// "hooke-bench-store": a page's name; its file is that and ".1".
std::string page_name(const CLI::App& command);

/// The page of one command, in troff's man macros, as man and mandoc read them.
std::string manual_page(const CLI::App& command);

/// `command`, and all that --help shows below it.
std::vector<const CLI::App*> with_all_below(const CLI::App& command);

}  // namespace hooke::cli
