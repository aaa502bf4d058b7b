// What agents make of an etcd that refuses, loses answers or stands still: hooke's and torchrun's,
// in the same situation.
#include "etcd_faults.h"

#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/etcd_factory.h"
#include "model/store/base64.h"

namespace hooke::interop {
namespace {

using testing::HasSubstr;

TEST_F(EtcdFaults, an_election_while_a_legacy_version_is_counted_is_waited_out) {
  for_each_agent([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path& directory, Kind kind) {
    const auto [proxy_of, port] =
        proxy(ports, directory, etcd, {"refuse 2 PUT version_counter prevIndex"});
    const auto agent_of = agent(ports, directory, kind, options("etcd", port), "exit 0");
    EXPECT_EQ(agent_of->end(90s), 0) << agent_of->output();
    EXPECT_EQ(times(proxy_of->output(), "refuse PUT"), 2U) << proxy_of->output();
  });
}

/// Its worker fails, and the version that follows is open for eight seconds: there the agent is
/// told to go. It takes that for an attempt that failed, and starts its worker again.
TEST_F(EtcdFaults, a_signal_in_the_legacy_barrier_is_swallowed) {
  for_each_agent([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path& directory, Kind kind) {
    std::vector<std::string> with = options("etcd", etcd.endpoint().port.value);
    with.insert(with.end(), {"--nnodes=1:2", "--max-restarts=1", "--monitor-interval=0.2",
                             "--rdzv-conf=last_call_timeout=8"});
    const auto agent_of = agent(ports, directory, kind, with,
                                "echo begins $TORCHELASTIC_RESTART_COUNT; "
                                "test $TORCHELASTIC_RESTART_COUNT = 1 || { sleep 1; exit 1; }");
    const auto begun = [&] { return times(agent_of->output(), "begins 0\n") == 1; };
    ASSERT_TRUE(eventually(ports, 60s, begun)) << agent_of->output();
    ports.executor.sleep_until(in(ports, 5s));
    agent_of->signal(sim::Signal::term);
    EXPECT_EQ(agent_of->end(60s), 0) << agent_of->output();
    EXPECT_EQ(times(agent_of->output(), "begins 1\n"), 1U) << agent_of->output();
  });
}

/// The first of two agents to be done waits in the exit barrier for the other one, and is told to
/// go.
TEST_F(EtcdFaults, a_signal_in_the_exit_barrier_over_etcd_is_heard) {
  for_each_agent([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path& directory, Kind kind) {
    std::vector<std::string> with = options("etcd-v2", etcd.endpoint().port.value);
    with.front() = "--nnodes=2:2";
    const std::string other = "other";
    fs::create_directories(directory / other);
    const auto works = agent(ports, directory / other, Kind::hooke, with, "sleep 60");
    const auto done = agent(ports, directory, kind, with, "echo is done");
    ASSERT_TRUE(eventually(ports, 60s, [&] { return times(done->output(), "is done\n") == 1; }))
        << done->output() << works->output();
    ports.executor.sleep_until(in(ports, 4s));
    done->signal(sim::Signal::term);
    EXPECT_EQ(done->end(15s), 1) << "it goes on waiting\n" << done->output();
    EXPECT_FALSE(works->end(0s)) << works->output();
  });
}

TEST_F(EtcdFaults, an_agent_whose_writes_have_no_answer_ends) {
  for (const std::string how : {"lose", "hold"}) {
    SCOPED_TRACE(how);
    for_each_agent(
        [&](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path& directory, Kind kind) {
          const auto [proxy_of, port] = proxy(ports, directory, etcd, {how + " 99 PUT rendezvous"});
          std::vector<std::string> with = options("etcd-v2", port);
          with.emplace_back("--rdzv-conf=read_timeout=1");
          const auto agent_of = agent(ports, directory, kind, with, "exit 0");
          EXPECT_EQ(agent_of->end(90s), 1) << agent_of->output();
          EXPECT_THAT(agent_of->output(), HasSubstr("RendezvousConnectionError"));
          EXPECT_EQ(times(proxy_of->output(), how + " PUT") % 4, 0U) << proxy_of->output();
        });
  }
}

// ---- the backend's own requests -----------------------------------------------------------------

/// What one backend is told to do, what etcd_proxy.py does meanwhile, and what is told of it.
struct BackendCase {
  std::string name;
  std::string rule;  ///< of the proxy, for requests of this run
  std::string read_timeout;
  std::vector<std::pair<std::string, std::string>> steps;  ///< as of etcd_backend.py, and results
  std::size_t spoilt;                                      ///< requests
};

const std::vector<BackendCase> kBackendCases{
    {"compare-failed",
     "",
     "60",
     {{"get", "nothing"},
      {"create=a", "a set"},
      {"create=b", "a not set"},
      {"swap=b", "b set"},
      {"stale=c", "b not set"},
      {"foreign=c", "b not set"},
      {"get", "b"}},
     0},
    {"create-lost", "lose 1 PUT prevExist", "60", {{"create=a", "a not set"}, {"get", "a"}}, 1},
    {"swap-lost",
     "lose 1 PUT prevIndex",
     "60",
     {{"create=a", "a set"}, {"swap=b", "b not set"}, {"swap=c", "c set"}},
     1},
    {"swap-lost-four-times",
     "lose 9 PUT prevIndex",
     "60",
     {{"create=a", "a set"}, {"swap=b", "RendezvousConnectionError"}, {"get", "b"}},
     4},
    {"swap-dropped-three-times",
     "drop 3 PUT prevIndex",
     "60",
     {{"create=a", "a set"}, {"swap=b", "b set"}},
     3},
    {"swap-dropped-four-times",
     "drop 9 PUT prevIndex",
     "60",
     {{"create=a", "a set"}, {"swap=b", "RendezvousConnectionError"}, {"get", "a"}},
     4},
    {"swap-held",
     "hold 1 PUT prevIndex",
     "1",
     {{"create=a", "a set"}, {"swap=b", "b not set"}, {"swap=c", "c set"}},
     1},
    {"swap-held-four-times",
     "hold 9 PUT prevIndex",
     "1",
     {{"create=a", "a set"}, {"swap=b", "RendezvousConnectionError"}, {"get", "b"}},
     4},
    {"swap-cut",
     "cut 9 PUT prevIndex",
     "60",
     {{"create=a", "a set"}, {"swap=b", "RendezvousConnectionError"}, {"get", "b"}},
     1},
    {"swap-refused",
     "refuse 9 PUT prevIndex",
     "60",
     {{"create=a", "a set"}, {"swap=b", "RendezvousConnectionError"}, {"get", "a"}},
     1},
    {"vanished",
     "drop 1 PUT prevIndex",
     "60",
     {{"create=a", "a set"},
      {"vanish=a", "gone"},
      {"swap=b", "RendezvousConnectionError"},
      {"get", "nothing"},
      {"swap=b", "RendezvousConnectionError"},
      {"create=c", "c set"}},
     1},
    {"read-lost", "lose 3 GET", "60", {{"create=a", "a set"}, {"get", "a"}}, 3},
    {"read-lost-four-times",
     "lose 4 GET",
     "60",
     {{"create=a", "a set"}, {"get", "RendezvousConnectionError"}, {"get", "a"}},
     4},
    {"read-held-four-times",
     "hold 4 GET",
     "1",
     {{"create=a", "a set"}, {"get", "RendezvousConnectionError"}, {"get", "a"}},
     4},
};

/// The same for etcds that end, of which each case has its own: the proxy ends after the first
/// write, and connections to it are refused from then on.
const BackendCase kLastMemberGone{"last-member-gone",
                                  "end 1 PUT",
                                  "60",
                                  {{"create=a", "a set"},
                                   {"swap=b", "RendezvousConnectionError"},
                                   {"get", "RendezvousConnectionError"}},
                                  1};
const BackendCase kOtherMemberThere{"other-member-there",
                                    "end 1 PUT",
                                    "60",
                                    {{"create=a", "a set"}, {"swap=b", "b set"}, {"get", "b"}},
                                    1};

/// What hooke's backend makes of it, as etcd_backend.py prints it.
std::string done_by_hooke(Ports& ports, const BackendCase& what, const std::string& name,
                          std::uint16_t port) {
  model::RendezvousParameters parameters;
  parameters.backend = "etcd-v2";
  parameters.endpoint = "localhost:" + std::to_string(port);
  parameters.run_id = name;
  parameters.config["read_timeout"] = what.read_timeout;
  const auto client = model::connect_etcd_v2(ports, parameters);
  const auto backend = model::make_etcd_v2_backend(client, parameters.run_id);
  std::vector<model::Token> tokens;
  std::string out;
  for (const auto& step : what.steps) {
    const std::string& text = step.first;
    const sim::Value state(text.substr(text.find('=') + 1));
    out += name + " " + text + ": ";
    if (text.starts_with("vanish")) {
      client->compare_and_delete("/torch/elastic/rendezvous/" + name,
                                 model::base64_encode(state).bytes());
      out += "gone\n";
      continue;
    }
    std::optional<model::Token> token;
    if (text.starts_with("swap")) token = tokens.back();
    if (text.starts_with("stale")) token = tokens.front();
    if (text.starts_with("foreign")) token = model::Token("no number");
    try {
      if (text == "get") {
        const auto stored = backend->get_state();
        if (stored) tokens.push_back(stored->token);
        out += (stored ? stored->bytes.bytes() : "nothing") + "\n";
        continue;
      }
      const auto result = backend->set_state(state, token);
      if (result) tokens.push_back(result->token);
      const char* const how = !result ? "nothing" : result->has_set ? " set" : " not set";
      out += (result ? result->bytes.bytes() : "") + how + "\n";
    } catch (const model::RendezvousConnectionError&) {
      out += "RendezvousConnectionError\n";
    }
  }
  return out;
}

std::string expected(const BackendCase& what, const std::string& name) {
  std::string out;
  for (const auto& [step, result] : what.steps) out += name + " " + step + ": " + result + "\n";
  return out;
}

/// H for hooke's run of a case, P for PyTorch's.
std::string name_of(const BackendCase& what, char kind) {
  return what.name + "-" + kind;
}

std::string as_argument(const BackendCase& what, std::uint16_t port) {
  std::string out = name_of(what, 'P') + " " + std::to_string(port) + " " + what.read_timeout;
  for (const auto& step : what.steps) out += " " + step.first;
  return out;
}

TEST_F(EtcdFaults, a_backend_makes_of_lost_answers_what_pytorchs_makes_of_them) {
  run([](Ports& ports, const fs::path& directory) {
    model::EmbeddedEtcd etcd(ports, {{}, (directory / "etcd").string(), 60s});
    std::vector<std::string> rules;
    for (const BackendCase& what : kBackendCases) {
      for (const char kind : {'H', 'P'}) {
        if (!what.rule.empty()) rules.push_back(what.rule + " /" + name_of(what, kind));
      }
    }
    const auto [proxy_of, port] = proxy(ports, directory, etcd, rules);
    std::vector<std::string> argv{torch_python(), script("etcd_backend.py").string()};
    std::string theirs;
    for (const BackendCase& what : kBackendCases) {
      argv.push_back(as_argument(what, port));
      theirs += expected(what, name_of(what, 'P'));
    }
    Child pytorch(ports, directory, "pytorch", argv);
    for (const BackendCase& what : kBackendCases) {
      const std::string name = name_of(what, 'H');
      EXPECT_EQ(done_by_hooke(ports, what, name, port), expected(what, name));
    }
    EXPECT_EQ(pytorch.end(120s), 0) << pytorch.output();
    EXPECT_THAT(pytorch.output(), HasSubstr(theirs));
    for (const BackendCase& what : kBackendCases) {
      for (const char kind : {'H', 'P'}) {
        EXPECT_EQ(times(proxy_of->output(), "/" + name_of(what, kind) + " "), what.spoilt)
            << name_of(what, kind) << "\n"
            << proxy_of->output();
      }
    }
    etcd.stop();
  });
}

TEST_F(EtcdFaults, a_backend_whose_connections_are_refused_turns_to_another_member_as_pytorchs) {
  run([](Ports& ports, const fs::path& directory) {
    model::EmbeddedEtcd etcd(ports, {{}, (directory / "etcd").string(), 60s});
    std::vector<std::string> argv{torch_python(), script("etcd_backend.py").string()};
    std::string theirs;
    std::vector<std::unique_ptr<Child>> proxies;
    const auto member = [&](const std::vector<std::string>& rules, const std::string& name) {
      fs::create_directories(directory / name);
      auto [child, port] = proxy(ports, directory / name, etcd, rules);
      proxies.push_back(std::move(child));
      return port;
    };
    for (const char kind : {'H', 'P'}) {
      const std::string suffix(1, kind);
      const std::uint16_t alone = member({kLastMemberGone.rule}, "alone-" + suffix);
      const std::uint16_t other = member({}, "other-" + suffix);
      // This one does not name itself: the list of the other one is asked for only once it is gone.
      const std::uint16_t first = member(
          {kOtherMemberThere.rule, "http://localhost:" + std::to_string(other)}, "first-" + suffix);
      for (const auto& [what, port] :
           {std::pair(kLastMemberGone, alone), std::pair(kOtherMemberThere, first)}) {
        if (kind == 'P') {
          argv.push_back(as_argument(what, port));
          theirs += expected(what, name_of(what, kind));
          continue;
        }
        EXPECT_EQ(done_by_hooke(ports, what, name_of(what, kind), port),
                  expected(what, name_of(what, kind)));
      }
    }
    Child pytorch(ports, directory, "pytorch", argv);
    EXPECT_EQ(pytorch.end(120s), 0) << pytorch.output();
    EXPECT_THAT(pytorch.output(), HasSubstr(theirs));
    etcd.stop();
  });
}

}  // namespace
}  // namespace hooke::interop
