// The hooke command. Each subcommand has a file of its own; here they are put together, and every
// way a command can end becomes an exit code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "scenarios/cli/arguments.h"
#include "scenarios/cli/commands.h"
#include "scenarios/format/json_reader.h"

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
  add_run(app, exit_code);
  add_explore(app, exit_code);
  add_sweep(app, exit_code);
  add_mix(app, exit_code);
  add_report(app, exit_code);
  add_shrink(app, exit_code);
  add_explain(app, exit_code);
  add_judge(app, exit_code);
  add_help(app, exit_code);
  add_list(app, exit_code);
  add_schema(app, exit_code);
  add_bench(app, exit_code);
  add_calibrate(app, exit_code);
  add_plan(app, exit_code);
  add_agent(app, exit_code);
  add_worker(app, exit_code);
  add_store(app, exit_code);
  add_timer_server(app, exit_code);
  add_worker_pool(app, exit_code);
  add_state(app, exit_code);
  add_completion(app, exit_code);
  add_man(app, exit_code);
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
