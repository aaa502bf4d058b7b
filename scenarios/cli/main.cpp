// The hooke command. Each subcommand has a file of its own; here they are put together, and every
// way a command can end becomes an exit code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "scenarios/cli/commands.h"
#include "scenarios/json_reader.h"

int main(int argc, char** argv) {
  using namespace hooke::cli;
  CLI::App app{"hooke: deterministic simulator and test harness for elastic distributed training"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "hooke 0.1.0");
  app.footer(
      "Exit codes: 0 all as expected; 1 an expectation or an invariant fell; 2 bad input or usage; "
      "3 the harness "
      "itself failed.");
  int exit_code = kAllHeld;
  add_run(app, exit_code);
  add_schema(app, exit_code);
  add_bench(app, exit_code);
  add_agent(app, exit_code);
  add_worker(app, exit_code);
  add_store(app, exit_code);
  add_state(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kAllHeld : kBadInput;
  } catch (const hooke::scenario::ScenarioError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hooke: %s\n", error.what());
    return kHarnessFailed;
  }
  return exit_code;
}
