#pragma once
// torchrun's options and what they mean (torch/distributed/run.py: get_args_parser, run,
// config_from_args).

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/launch/launch_agent.h"

namespace hooke::model {

/// As given on the command line; the defaults are torchrun's.
struct TorchrunOptions {
  std::string nnodes = "1:1";
  std::string nproc_per_node = "1";
  std::string rdzv_backend = "static";
  std::string rdzv_endpoint;
  std::string rdzv_id = "none";
  std::string rdzv_conf;
  bool standalone = false;
  std::int64_t max_restarts = 0;
  /// What torchrun has no options for, each NAME[:KEY=VALUE,...].
  std::string restart_policy = "torch";
  std::string agent_kind = "elastic";
  std::string timer = "file";
  std::string process_launcher = "local";
  std::string shutdown = "torch";
  double monitor_interval = 0.1;  ///< seconds
  std::string role = "default";
  bool module = false;
  bool no_python = false;
  bool run_path = false;
  std::string log_dir;
  std::string redirects = "0";
  std::string tee = "0";
  std::string local_ranks_filter;
  std::optional<std::string> duplicate_stdout_filters;
  std::optional<std::string> duplicate_stderr_filters;
  std::string logs_specs = "default";
  std::string numa_binding;  ///< empty: none
  std::int64_t node_rank = 0;
  std::string master_addr = "127.0.0.1";
  std::optional<std::int64_t> master_port;
  std::string local_addr;
  std::string signals_to_handle = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
  std::optional<std::int64_t> shutdown_timeout;  ///< seconds
  bool virtual_local_rank = false;
  std::string event_log_handler = "null";
  Variant variant = Variant::torch_2_x;
  std::string script;
  std::vector<std::string> script_arguments;
};

/// The configuration of one agent, and what torchrun warns of on the way.
struct ConfiguredLaunch {
  LaunchConfig config;
  std::vector<std::string> notices;
};

/// A command line that torchrun does not take either; what() names the option and what was
/// expected.
class RefusedOption : public std::invalid_argument {
 public:
  /// `class_name`: of the exception that ends torchrun, as its error file has it.
  RefusedOption(const std::string& what, std::string class_name = "ValueError")
      : std::invalid_argument(what), class_name_(std::move(class_name)) {}
  [[nodiscard]] const std::string& class_name() const { return class_name_; }

 private:
  std::string class_name_;
};

/// Reads "key1=value1,key2=value2" (--rdzv-conf, utils.py:_parse_rendezvous_config).
/// RefusedOption for anything else.
std::map<std::string, std::string> parse_rendezvous_configuration(const std::string& text);

/// `cpus`: how many processors this machine has. RefusedOption for a value that means nothing;
/// std::invalid_argument for a replaceable part with a wrong option.
ConfiguredLaunch configure_launch(sim::Ports& ports, const TorchrunOptions& options,
                                  std::int64_t cpus);

}  // namespace hooke::model
