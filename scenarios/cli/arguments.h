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
/// "help COMMAND" becomes "COMMAND --help", "help" "--help" and "version" "--version". "help NAME"
/// of a word that is no command stays what it is.
/// CLI::ExtrasError when an option begins several.
std::vector<std::string> understood(const CLI::App& app, std::vector<std::string> arguments);

/// "hooke run: no option --sed; did you mean --seed?" for a first word that is no command, or for
/// what no option of the chosen command takes; nullopt where `error` says it best.
std::optional<std::string> complaint(const CLI::App& app, const std::vector<std::string>& arguments,
                                     const CLI::ParseError& error);

/// The command below `app` of that name; nullptr: none.
const CLI::App* command_called(const CLI::App& app, const std::string& name);

/// The command that `words` name, one below the other; `app` itself for none.
/// scenario::ScenarioError for a word that names no command.
const CLI::App& command_named(const CLI::App& app, const std::vector<std::string>& words);

/// The commands below `app` that --help shows.
std::vector<const CLI::App*> shown_commands(const CLI::App& app);

/// "hooke bench store": the name of a command after those of the commands above it.
std::string full_name(const CLI::App& command);

/// "hooke run": the command that was chosen.
std::string chosen(const CLI::App& app);

}  // namespace hooke::cli
