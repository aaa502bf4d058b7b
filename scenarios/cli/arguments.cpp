// Names are looked up in the commands themselves, so that none is written twice.
#include "scenarios/cli/arguments.h"

#include <algorithm>
#include <regex>

#include "scenarios/cli/library.h"
#include "scenarios/format/json_reader.h"

namespace hooke::cli {
namespace {

/// The option of `command` that `name` (without dashes) is or begins, if there is just one;
/// ExtrasError when it begins several.
const CLI::Option* option_called(const CLI::App& command, const std::string& name) {
  const CLI::Option* found = nullptr;
  bool several = false;
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& whole : option->get_lnames()) {
      if (whole == name) return option;
      if (!whole.starts_with(name) || found == option) continue;
      several = several || found != nullptr;
      found = option;
    }
  }
  if (several) throw CLI::ExtrasError({"--" + name + " (begins several options)"});
  return found;
}

/// How far `arguments` name commands below `app`, from the first argument on.
std::size_t commands_in(const CLI::App*& app, const std::vector<std::string>& arguments) {
  std::size_t count = 0;
  while (count < arguments.size()) {
    const CLI::App* const command = command_called(*app, arguments[count]);
    if (command == nullptr) break;
    app = command;
    ++count;
  }
  return count;
}

std::vector<std::string> with_help_spelled_out(const CLI::App& app,
                                               std::vector<std::string> arguments) {
  if (arguments.empty()) return arguments;
  if (arguments.front() == "version" && arguments.size() == 1) return {"--version"};
  if (arguments.front() != "help") return arguments;
  const std::string about = arguments.size() == 1 ? "" : arguments[1];
  // Names that are no commands, and options, are for hooke help itself.
  if (!about.empty() && command_called(app, about) == nullptr) return arguments;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
  return arguments;
}

/// The library reads "-1" as the greatest number where none may be below 0: a hunt without end.
void refuse_negative(const CLI::Option& option, const std::string& value) {
  if (!option.get_type_name().starts_with("UINT")) return;
  if (value.size() < 2 || value[0] != '-' || value.find_first_not_of("0123456789", 1) != value.npos)
    return;
  throw CLI::ValidationError(option.get_name(),
                             "expected a whole number of at least 0, got \"" + value + "\"");
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const auto best = scenario::nearest(word, candidates);
  return best ? "; did you mean " + *best + "?" : "";
}

/// What an option takes, in words: "a whole number of at least 1" of the range 1 to 2^64 - 1.
std::string between(const std::string& least, const std::string& most) {
  if (most.size() > 15) return "a number of at least " + least;  // no limit that a person meets
  return "a number from " + least + " to " + most;
}

/// The library's sentences about a value, in the words of all other complaints: what was expected,
/// and what was met. nullopt for a sentence that is none of these.
std::optional<std::string> about_a_value(const CLI::App& command, const std::string& said) {
  std::smatch part;
  static const std::regex missing(R"((\S+) is required)");
  static const std::regex no_value(R"((--?[\w-]+): \d+ required .* missing)");
  static const std::regex no_number(R"(Could not convert: (--?[\w-]+) = (.*))");
  static const std::regex out_of_range(R"((\S+): Value (.*) not in range (\S+) to (\S+))");
  static const std::regex no_choice(R"((\S+): (.*) not in \{(.*)\})");
  if (std::regex_match(said, part, missing)) {
    const CLI::Option* const option = command.get_option_no_throw(part[1]);
    if (option == nullptr) return std::nullopt;
    return "expected " + part[1].str() + ", got none. " + part[1].str() + ": " +
           first_sentence(option->get_description());
  }
  if (std::regex_match(said, part, no_value)) return part[1].str() + ": expected a value, got none";
  if (std::regex_match(said, part, no_number)) {
    const CLI::Option* const option = command.get_option_no_throw(part[1]);
    const std::string type = option == nullptr ? "" : option->get_type_name();
    const std::string kind = type.starts_with("UINT")  ? "a whole number of at least 0"
                             : type.starts_with("INT") ? "a whole number"
                                                       : "a number";
    return part[1].str() + ": expected " + kind + ", got \"" + part[2].str() + "\"";
  }
  if (std::regex_match(said, part, out_of_range)) {
    return part[1].str() + ": expected " + between(part[3], part[4]) + ", got \"" + part[2].str() +
           "\"";
  }
  if (std::regex_match(said, part, no_choice)) {
    return part[1].str() + ": expected one of " +
           std::regex_replace(part[3].str(), std::regex(","), ", ") + ", got \"" + part[2].str() +
           "\"";
  }
  return std::nullopt;
}

}  // namespace

const CLI::App* command_called(const CLI::App& app, const std::string& name) {
  const auto named =
      app.get_subcommands([&](const CLI::App* other) { return other->get_name() == name; });
  return named.empty() ? nullptr : named.front();
}

const CLI::App& command_named(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const CLI::App* const below = command_called(*command, word);
    if (below == nullptr) {
      std::vector<std::string> names;
      for (const CLI::App* const each : shown_commands(*command)) names.push_back(each->get_name());
      throw scenario::ScenarioError(full_name(*command) + ": no command " + word +
                                    did_you_mean(word, names));
    }
    command = below;
  }
  return *command;
}

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::string full_name(const CLI::App& command) {
  const CLI::App* const above = command.get_parent();
  return (above == nullptr ? "" : full_name(*above) + " ") + command.get_name();
}

std::vector<std::string> understood(const CLI::App& app, std::vector<std::string> arguments) {
  arguments = with_help_spelled_out(app, std::move(arguments));
  const CLI::App* command = &app;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string& word = arguments[i];
    if (!word.starts_with("-")) {
      const CLI::App* const named = command_called(*command, word);
      if (named == nullptr) break;
      command = named;
      continue;
    }
    if (!word.starts_with("--")) {
      const CLI::Option* const brief = command->get_option_no_throw(word);
      if (brief != nullptr && brief->get_items_expected_min() > 0) ++i;
      continue;
    }
    if (word == "--") {
      // Before a script it says what the script's place says already, and is no part of it.
      if (command->get_prefix_command()) arguments.erase(arguments.begin() + static_cast<long>(i));
      break;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals - 2);
    const CLI::Option* const option = option_called(*command, name);
    if (option == nullptr) continue;
    const auto& names = option->get_lnames();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      word = "--" + names.front() + (equals == std::string::npos ? "" : word.substr(equals));
    }
    // Its value is not the script.
    if (equals == std::string::npos && option->get_items_expected_min() > 0) ++i;
    if (equals != std::string::npos || i < arguments.size()) {
      refuse_negative(*option, equals == std::string::npos
                                   ? arguments[i]
                                   : arguments[i].substr(arguments[i].find('=') + 1));
    }
  }
  return arguments;
}

std::optional<std::string> complaint(const CLI::App& app, const std::vector<std::string>& arguments,
                                     const CLI::ParseError& error) {
  const CLI::App* command = &app;
  const std::size_t commands = commands_in(command, arguments);
  const auto below = command->get_subcommands([](const CLI::App*) { return true; });
  const bool has_word = commands < arguments.size() && !arguments[commands].starts_with("-");
  if (!below.empty() && has_word) {
    std::vector<std::string> names;
    for (const CLI::App* const each : below) names.push_back(each->get_name());
    return "no command " + arguments[commands] + did_you_mean(arguments[commands], names);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) {
    return about_a_value(*command, error.what());
  }
  const auto unknown =
      std::find_if(arguments.begin(), arguments.end(), [&](const std::string& word) {
        return word.starts_with("--") && word.size() > 2 &&
               command->get_option_no_throw(word.substr(0, word.find('='))) == nullptr;
      });
  if (unknown == arguments.end()) return std::nullopt;
  std::vector<std::string> names;
  for (const CLI::Option* const option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string word = unknown->substr(0, unknown->find('='));
  return "no option " + word + did_you_mean(word, names);
}

std::string chosen(const CLI::App& app) {
  std::string out = app.get_name();
  for (const CLI::App* command = &app; !command->get_subcommands().empty();) {
    command = command->get_subcommands().back();
    out += " " + command->get_name();
  }
  return out;
}

}  // namespace hooke::cli
