#pragma once
// torchrun's options on a command: both spellings of each, its variable PET_*, and numbers as
// Python reads them (torch/distributed/run.py:get_args_parser, argparse_util.py).

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hooke::cli {

/// Adds options to one command. CLI11 reads a variable where the option is not on the command line;
/// what it passes over is read by read_variables().
class TorchrunFlags {
 public:
  explicit TorchrunFlags(CLI::App& command) : command_(command) {}

  /// `name`: "nproc-per-node", which is also "--nproc_per_node" and PET_NPROC_PER_NODE. The last of
  /// several counts. A text that is no number is bad usage.
  CLI::Option* add(const std::string& name, std::string& value, const std::string& meaning,
                   const std::string& shorthand = "");
  CLI::Option* add(const std::string& name, std::optional<std::string>& value,
                   const std::string& meaning);
  CLI::Option* add(const std::string& name, std::int64_t& value, const std::string& meaning);
  CLI::Option* add(const std::string& name, std::optional<std::int64_t>& value,
                   const std::string& meaning);
  CLI::Option* add(const std::string& name, double& value, const std::string& meaning);
  /// A flag takes no value; its variable is a whole number.
  CLI::Option* add_flag(const std::string& name, bool& value, const std::string& meaning,
                        const std::string& shorthand = "");

  /// To be called when the command line has been read. An empty variable is an empty text, as
  /// os.environ has it. CLI::ConversionError where it should be a number; model::RefusedOption for
  /// a flag's variable that is no whole number, whether or not the flag is given.
  void read_variables() const;

 private:
  using Read = std::function<void(const std::string&)>;
  CLI::Option* add_value(const std::string& name, const Read& read, const std::string& type,
                         const std::string& meaning, const std::string& shorthand);

  CLI::App& command_;
  std::vector<std::function<void()>> after_;
};

}  // namespace hooke::cli
