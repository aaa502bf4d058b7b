#pragma once
// What a person types, before the command line library reads it, and what to say when that does not
// understand it.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hooke::cli {

/// Whole names for unique beginnings of long options, as in Python's argparse ("--redir" for
/// "--redirects"), up to the first argument that is none: from there on all belongs to a script.
/// "help COMMAND" becomes "COMMAND --help", "help" "--help", "version" "--version", and
/// "help NAME" of something that is no command "list all NAME". CLI::ExtrasError when an option begins several.
std::vector<std::string> understood(const CLI::App& app, std::vector<std::string> arguments);

/// "hooke run: no option --sed; did you mean --seed?" for a first word that is no command, or for
/// what no option of the chosen command takes; nullopt where `error` says it best.
std::optional<std::string> complaint(const CLI::App& app, const std::vector<std::string>& arguments,
                                     const CLI::ParseError& error);

/// "hooke run": the command that was chosen.
std::string chosen(const CLI::App& app);

}  // namespace hooke::cli
