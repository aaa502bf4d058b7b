// The hooke command. Each subcommand has a file of its own; here they are put together, and every
// way a command can end becomes an exit code.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "scenarios/cli/arguments.h"
#include "scenarios/cli/commands.h"
#include "scenarios/format/json_reader.h"

namespace {

/// In the order of hooke --help.
constexpr std::array kCommands{
    hooke::cli::add_run,         hooke::cli::add_explore, hooke::cli::add_sweep,
    hooke::cli::add_mix,         hooke::cli::add_report,  hooke::cli::add_shrink,
    hooke::cli::add_explain,     hooke::cli::add_judge,   hooke::cli::add_help,
    hooke::cli::add_list,        hooke::cli::add_schema,  hooke::cli::add_bench,
    hooke::cli::add_calibrate,   hooke::cli::add_plan,    hooke::cli::add_agent,
    hooke::cli::add_worker,      hooke::cli::add_store,   hooke::cli::add_timer_server,
    hooke::cli::add_worker_pool, hooke::cli::add_state,   hooke::cli::add_completion,
    hooke::cli::add_man,
};

}  // namespace

int main(int argc, char** argv) {
  using namespace hooke::cli;
  CLI::App app{"Deterministic simulator and test harness for elastic distributed training",
               "hooke"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "hooke " + std::string(kVersion));
  app.footer(
      "Exit codes: 0 all as expected; 1 an expectation or an invariant fell; 2 bad input or usage; "
      "3 the harness itself failed, or a run was inconclusive.");
  int exit_code = kAllHeld;
  for (const auto add : kCommands) add(app, exit_code);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    std::cout << app.help() << std::flush;
    return kBadInput;
  }
  try {
    arguments = understood(app, std::move(arguments));
    // As CLI11 wants them.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::string name = chosen(app);
    std::fprintf(stderr, "%s: %s\n\"%s --help\" says what it takes.\n", name.c_str(),
                 complaint(app, arguments, error).value_or(error.what()).c_str(), name.c_str());
    return kBadInput;
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
