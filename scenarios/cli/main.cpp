// The hooke command. Each subcommand has a file of its own; here they are put together, and every
// way a command can end becomes an exit code.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "scenarios/cli/commands.h"
#include "scenarios/format/json_reader.h"

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

/// Unique beginnings of long options stand for the option, as in Python's argparse ("--redir" for
/// "--redirects"), up to the first argument that is none: from there on all belongs to a script.
std::vector<std::string> with_whole_option_names(const CLI::App& app,
                                                 std::vector<std::string> arguments) {
  const CLI::App* command = &app;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string& word = arguments[i];
    if (!word.starts_with("-")) {
      const auto named = command->get_subcommands(
          [&](const CLI::App* other) { return other->get_name() == word; });
      if (named.empty()) break;
      command = named.front();
      continue;
    }
    if (!word.starts_with("--")) {
      const CLI::Option* const brief = command->get_option_no_throw(word);
      if (brief != nullptr && brief->get_items_expected_min() > 0) ++i;
      continue;
    }
    if (word == "--") break;
    const std::size_t equals = word.find('=');
    const CLI::Option* const option = option_called(*command, word.substr(2, equals - 2));
    if (option == nullptr) continue;
    const std::string name = word.substr(2, equals - 2);
    const auto& names = option->get_lnames();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      word = "--" + names.front() + (equals == std::string::npos ? "" : word.substr(equals));
    }
    // Its value is not the script.
    if (equals == std::string::npos && option->get_items_expected_min() > 0) ++i;
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hooke::cli;
  CLI::App app{"hooke: deterministic simulator and test harness for elastic distributed training"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "hooke 0.1.0");
  app.footer(
      "Exit codes: 0 all as expected; 1 an expectation or an invariant fell; 2 bad input or usage; "
      "3 the harness itself failed, or a run was inconclusive.");
  int exit_code = kAllHeld;
  add_run(app, exit_code);
  add_explore(app, exit_code);
  add_sweep(app, exit_code);
  add_mix(app, exit_code);
  add_report(app, exit_code);
  add_shrink(app, exit_code);
  add_explain(app, exit_code);
  add_judge(app, exit_code);
  add_schema(app, exit_code);
  add_bench(app, exit_code);
  add_plan(app, exit_code);
  add_agent(app, exit_code);
  add_worker(app, exit_code);
  add_store(app, exit_code);
  add_timer_server(app, exit_code);
  add_worker_pool(app, exit_code);
  add_state(app, exit_code);
  try {
    std::vector<std::string> arguments = with_whole_option_names(app, {argv + 1, argv + argc});
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kAllHeld : kBadInput;
  } catch (const hooke::scenario::ScenarioError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hooke: %s\n", error.what());
    return kHarnessFailed;
  }
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "hooke: the standard output: not all of it could be written\n");
    return kHarnessFailed;
  }
  return exit_code;
}
