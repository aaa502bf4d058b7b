// What one agent does with its arguments and its environment: hooke's and PyTorch's.
#include "one_agent.h"

#include <chrono>
#include <iomanip>
#include <regex>
#include <set>
#include <sstream>

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> over_a_file(const std::string& endpoint) {
  std::vector<std::string> out{"--rdzv-backend=c10d", "--rdzv-conf=store_type= File ",
                               "--rdzv-id=job"};
  if (!endpoint.empty()) out.push_back("--rdzv-endpoint=" + endpoint);
  return out;
}

std::vector<fs::path> files_below(const fs::path& directory) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) out.push_back(entry.path());
  }
  return out;
}

// ---- --signals-to-handle ------------------------------------------------------------------------

/// An agent that handles `names` is sent `signal` while its worker runs, which writes down SIGTERM
/// and SIGUSR1.
OneAgent signalled(const fs::path& directory, const std::string& names, sim::Signal signal) {
  const std::string program =
      "trap 'echo SIGUSR1 > got; exit 0' USR1; trap 'echo SIGTERM > got; exit 0' TERM; touch up; "
      "while :; do sleep 0.1; done";
  OneAgent out{shell("cd " + directory.string() + "; " + program,
                     {"--standalone", "--signals-to-handle=" + names})};
  out.meanwhile = [=](Ports& ports, Child& agent) {
    EXPECT_TRUE(eventually(ports, 60s, [&] { return fs::exists(directory / "up"); }))
        << agent.output();
    agent.signal(signal);
  };
  return out;
}

TEST(HandledSignals, are_passed_on_to_the_workers_and_end_both_agents_alike) {
  for (const sim::Signal signal : {sim::Signal::usr1, sim::Signal::usr2, sim::Signal::term}) {
    with_both(
        [&](const fs::path& directory) {
          return signalled(directory, "SIGUSR1, SIGUSR2,SIGTERM", signal);
        },
        [&](const Seen& hooke, const Seen& torchrun) {
          EXPECT_EQ(torchrun.end, 1) << torchrun.output;
          EXPECT_EQ(hooke.end, torchrun.end) << hooke.output;
          if (signal == sim::Signal::usr2) return;  // the worker does not live to write it down
          EXPECT_EQ(contents_of(torchrun.directory / "got"), std::string(to_string(signal)) + "\n");
          EXPECT_EQ(contents_of(hooke.directory / "got"), contents_of(torchrun.directory / "got"));
        });
  }
}

TEST(HandledSignals, of_no_name_are_told_by_both_agents_which_go_on) {
  with_both(
      [&](const fs::path& directory) {
        return signalled(directory, "SIGNONE,SIGUSR1", sim::Signal::usr1);
      },
      [](const Seen& hooke, const Seen& torchrun) {
        for (const Seen& seen : {torchrun, hooke}) {
          EXPECT_EQ(seen.end, 1) << seen.output;
          EXPECT_THAT(seen.output, testing::HasSubstr("SIGNONE"));
          EXPECT_EQ(contents_of(seen.directory / "got"), "SIGUSR1\n");
        }
      });
}

TEST(HandledSignals, that_cannot_be_caught_end_both_agents) {
  with_both(
      [](const fs::path&) {
        return OneAgent{shell("exit 0", {"--standalone", "--signals-to-handle=SIGKILL"})};
      },
      [](const Seen& hooke, const Seen& torchrun) {
        for (const Seen& seen : {torchrun, hooke}) {
          EXPECT_EQ(seen.end, 1) << seen.output;
          EXPECT_THAT(seen.output, testing::HasSubstr("OSError"));
        }
      });
}

/// hooke knows nine signals by name (sim::kSignals), Python all of the machine.
TEST(HandledSignals, beyond_those_that_hooke_knows_are_names_of_none_to_it) {
  with_both(
      [](const fs::path&) {
        return OneAgent{shell("exit 0", {"--standalone", "--signals-to-handle=SIGALRM"})};
      },
      [](const Seen& hooke, const Seen& torchrun) {
        EXPECT_EQ(torchrun.end, 0) << torchrun.output;
        EXPECT_EQ(hooke.end, 0) << hooke.output;
        EXPECT_THAT(torchrun.output, testing::Not(testing::HasSubstr("SIGALRM")));
        EXPECT_THAT(hooke.output, testing::HasSubstr("there is no signal \"SIGALRM\""));
      });
}

// ---- files --------------------------------------------------------------------------------------

TEST(AgentOverAFile, without_a_path_makes_a_temporary_one_as_torchrun) {
  with_both(
      [](const fs::path& directory) {
        fs::create_directories(directory / "tmp");
        OneAgent out{shell("exit 0", over_a_file(""))};
        out.environment["TMPDIR"] = directory / "tmp";
        return out;
      },
      [](const Seen& hooke, const Seen& torchrun) {
        for (const Seen& seen : {torchrun, hooke}) {
          EXPECT_EQ(seen.end, 0) << seen.output;
          const auto files = files_below(seen.directory / "tmp");
          ASSERT_EQ(files.size(), 1U) << seen.output;
          EXPECT_THAT(contents_of(files.front()), testing::HasSubstr("torch.rendezvous.job"));
          // Other users are kept away from the file, or from the directory that it lies in.
          const auto of_others = [](const fs::path& path) {
            return fs::status(path).permissions() & fs::perms::others_all;
          };
          EXPECT_EQ(of_others(files.front()) & of_others(files.front().parent_path()),
                    fs::perms::none);
        }
      });
}

TEST(LogDirectoryOfAnAgent, that_is_a_file_is_refused_by_both_before_they_have_a_store) {
  with_both(
      [](const fs::path& directory) {
        std::ofstream(directory / "logs") << "a file";
        std::vector<std::string> options = over_a_file(directory / "store");
        options.push_back("--log-dir=" + (directory / "logs").string());
        return OneAgent{shell("touch " + (directory / "ran").string(), options)};
      },
      [](const Seen& hooke, const Seen& torchrun) {
        for (const Seen& seen : {torchrun, hooke}) {
          EXPECT_EQ(seen.end, 1) << seen.output;
          EXPECT_FALSE(fs::exists(seen.directory / "store")) << seen.output;
          EXPECT_FALSE(fs::exists(seen.directory / "ran"));
        }
      });
}

// ---- --nproc-per-node ---------------------------------------------------------------------------

TEST(WorkersOfAnAgent, are_as_many_as_torchruns) {
  for (const std::string number : {"2", "cpu", "auto", "gpu", "xpu", "none"}) {
    with_both(
        [&](const fs::path& directory) {
          std::vector<std::string> options = over_a_file(directory / "store");
          options.push_back("--nproc-per-node=" + number);
          return OneAgent{shell("echo of $LOCAL_WORLD_SIZE workers", options)};
        },
        [&](const Seen& hooke, const Seen& torchrun) {
          const auto sizes = [](const std::string& output) {
            std::vector<std::string> out;
            std::istringstream lines(output);
            for (std::string line; std::getline(lines, line);) {
              if (line.starts_with("of ")) out.push_back(line);
            }
            return out;
          };
          EXPECT_EQ(hooke.end, torchrun.end) << number << hooke.output << torchrun.output;
          EXPECT_EQ(sizes(hooke.output), sizes(torchrun.output)) << number;
          EXPECT_EQ(torchrun.end == 0, !sizes(torchrun.output).empty()) << number;
        });
  }
}

// ---- failures -----------------------------------------------------------------------------------

/// What the events of the first failure say of its cause, without blanks and escapes.
std::set<std::string> error_traits_in(const std::string& output) {
  std::set<std::string> out;
  const std::regex traits("errorTraits[^}]*\\}");
  for (std::sregex_iterator found(output.begin(), output.end(), traits), end; found != end;
       ++found) {
    std::string text = found->str();
    std::erase_if(text, [](char c) { return c == ' ' || c == '\\'; });
    out.insert(text);
  }
  return out;
}

TEST(ErrorTraits, of_a_first_failure_are_those_of_torchrun) {
  for (const bool by_signal : {false, true}) {
    with_both(
        [&](const fs::path&) {
          return OneAgent{shell(by_signal ? "kill -9 $$$$" : "exit 3",
                                {"--standalone", "--event-log-handler=console"})};
        },
        [&](const Seen& hooke, const Seen& torchrun) {
          const auto theirs = error_traits_in(torchrun.output);
          EXPECT_EQ(theirs.empty(), by_signal) << torchrun.output;
          EXPECT_EQ(error_traits_in(hooke.output), theirs) << hooke.output;
        });
  }
}

// ---- kept on purpose ----------------------------------------------------------------------------

/// Two hours of difference either way are allowed: the moments are not the same.
TEST(TimeInTheBlockOfFailures, is_local_in_torchruns_and_utc_in_hookes) {
  const std::string clock = "[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}:[0-9]{2}:[0-9]{2}";
  const auto time_in = [](const std::string& output) {
    std::smatch found;
    std::regex_search(output, found, std::regex("\n  time      : ([^\n]*)\n"));
    return found.empty() ? "" : found.str(1);
  };
  const auto seconds = [](const std::string& text) {
    std::istringstream in(text);
    std::tm fields{};
    in >> std::get_time(&fields, "%Y-%m-%d_%H:%M:%S");
    return static_cast<std::int64_t>(timegm(&fields));
  };
  with_both(
      [](const fs::path&) {
        return OneAgent{shell("exit 3"), {{"TZ", "XYZ-14"}}};
      },
      [&](const Seen& hooke, const Seen& torchrun) {
        const std::string ours = time_in(hooke.output);
        const std::string theirs = time_in(torchrun.output);
        ASSERT_THAT(theirs, testing::MatchesRegex(clock)) << torchrun.output;
        ASSERT_THAT(ours, testing::MatchesRegex(clock + "Z")) << hooke.output;
        EXPECT_NEAR(static_cast<double>(seconds(theirs) - seconds(ours)) / 3600, 14, 2);
      });
}

TEST(Interpreter, is_torchruns_own_and_for_hooke_that_of_the_path) {
  for (const bool says_which : {false, true}) {
    with_both(
        [&](const fs::path& directory) {
          fs::create_directories(directory / "bin");
          std::ofstream(directory / "bin/python3") << "#!/bin/sh\necho that of the path\n";
          fs::permissions(directory / "bin/python3", fs::perms::owner_all);
          std::ofstream(directory / "script.py") << "print('own')\n";
          OneAgent out{{"--standalone", (directory / "script.py").string()}};
          out.environment["PATH"] = (directory / "bin").string() + ":" + std::getenv("PATH");
          if (says_which) out.environment["PYTHON_EXEC"] = torch_python();
          return out;
        },
        [&](const Seen& hooke, const Seen& torchrun) {
          EXPECT_THAT(torchrun.output, testing::EndsWith("own\n"));
          EXPECT_THAT(hooke.output, testing::EndsWith(says_which ? "own\n" : "that of the path\n"));
        });
  }
}

/// A network of its own, in which the kernel gives one port only, and that one is taken on another
/// address than the loopback's first.
TEST(FreePort, is_free_on_the_loopback_for_torchrun_and_on_all_interfaces_for_hooke) {
  if (std::system("unshare -rn sh -c 'ip link set lo up && echo 40000 40000 > "
                  "/proc/sys/net/ipv4/ip_local_port_range' 2>/dev/null") != 0) {
    GTEST_SKIP() << "this machine gives no network of its own";
  }
  const std::string taken =
      "import socket, subprocess, sys\n"
      "open('/proc/sys/net/ipv4/ip_local_port_range', 'w').write('40000 40000')\n"
      "taken = socket.create_server(('127.0.0.2', 40000))\n"
      "sys.exit(subprocess.run(sys.argv[1:]).returncode)\n";
  with_both(
      [&](const fs::path& directory) {
        OneAgent out{shell("echo the port is $MASTER_PORT", over_a_file(directory / "store"))};
        out.environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
        out.under = {"unshare", "-rn",          "sh", "-c", "ip link set lo up; exec \"$@\"",
                     "sh",      torch_python(), "-c", taken};
        return out;
      },
      [](const Seen& hooke, const Seen& torchrun) {
        EXPECT_THAT(torchrun.output, testing::HasSubstr("the port is 40000\n"));
        EXPECT_EQ(hooke.end, 1);
        EXPECT_THAT(hooke.output, testing::HasSubstr("no port is free"));
      });
}

}  // namespace
}  // namespace hooke::interop
