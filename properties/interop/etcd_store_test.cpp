// The stores of hooke and of PyTorch in etcd's v2 tree, in the same situations.
#include "etcd_faults.h"
#include "model/etcd/v2_store.h"
#include "model/observe/python_error.h"
#include "model/rendezvous/etcd_factory.h"

namespace hooke::interop {
namespace {

using testing::HasSubstr;

/// What one store is told to do, what etcd_proxy.py does meanwhile, and what becomes of it.
struct StoreCase {
  std::string name;
  std::string rule;  ///< of the proxy, for requests of this run
  std::vector<std::pair<std::string, std::string>> steps;  ///< as of etcd_store.py, and results
};

const std::vector<StoreCase> kStoreCases{
    {"plain",
     "",
     {{"check=a", "False"},
      {"set=a", "None"},
      {"check=a", "True"},
      {"check=a,b", "False"},
      {"wait=1=a", "None"},
      {"wait=1=a,b", "LookupError"}}},
    // Keys are counted, those that are waited for as well as those that are there.
    {"key-twice", "", {{"set=a", "None"}, {"check=a,a", "False"}, {"wait=1=a,a", "LookupError"}}},
    // Its Base64 has a slash in it, and what lies below a directory is not listed (S-L1).
    {"slash",
     "",
     {{"set=k?\?>", "None"}, {"check=k?\?>", "False"}, {"wait=1=k?\?>", "LookupError"}}},
    // Nothing was there when it looked, so that it knows no index to watch from (S-L15).
    {"late-in-an-empty-store",
     "meddle 1 GET",
     {{"wait=2=late", "LookupError"}, {"check=late", "True"}}},
    {"late-beside-others", "meddle 1 GET", {{"set=a", "None"}, {"wait=9=late", "None"}}},
    {"watch-ended", "empty 1 GET wait=true", {{"set=a", "None"}, {"wait=9=b", "EtcdException"}}},
};

std::vector<std::string> keys_in(const std::string& text) {
  std::vector<std::string> keys;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    keys.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return keys;
}

std::string result_of(model::Store& store, const std::string& step) {
  const std::vector<std::string> keys = keys_in(step.substr(step.rfind('=') + 1));
  try {
    if (step.starts_with("check")) return store.check(keys) ? "True" : "False";
    if (step.starts_with("set")) {
      store.set(keys.front(), sim::Value("v"));
    } else {
      store.wait(keys, std::chrono::seconds(step.at(step.find('=') + 1) - '0'));
    }
    return "None";
  } catch (const model::EscapedPythonError& error) {
    return error.class_name();
  }
}

/// H for hooke's run of a case, P for PyTorch's.
std::string run_name(const StoreCase& what, char kind) {
  return what.name + "-" + kind;
}

TEST_F(EtcdFaults, a_store_finds_what_pytorchs_finds) {
  run([](Ports& ports, const fs::path& directory) {
    model::EmbeddedEtcd etcd(ports, {{}, (directory / "etcd").string(), 60s});
    std::vector<std::string> rules;
    for (const StoreCase& what : kStoreCases) {
      for (const char kind : {'H', 'P'}) {
        if (!what.rule.empty()) rules.push_back(what.rule + " /" + run_name(what, kind));
      }
    }
    const auto [proxy_of, port] = proxy(ports, directory, etcd, rules);
    std::vector<std::string> argv{torch_python(), script("etcd_store.py").string()};
    std::string theirs;
    for (const StoreCase& what : kStoreCases) {
      std::string told = run_name(what, 'P') + " " + std::to_string(port);
      for (const auto& [step, result] : what.steps) {
        told += " " + step;
        theirs += run_name(what, 'P') + " " + step + ": " + result + "\n";
      }
      argv.push_back(told);
    }
    Child pytorch(ports, directory, "pytorch", argv);
    model::RendezvousParameters parameters;
    parameters.backend = "etcd-v2";
    parameters.endpoint = "localhost:" + std::to_string(port);
    for (const StoreCase& what : kStoreCases) {
      const auto store = model::make_etcd_v2_store(ports, model::connect_etcd_v2(ports, parameters),
                                                   "/" + run_name(what, 'H'));
      for (const auto& [step, result] : what.steps) {
        EXPECT_EQ(result_of(*store, step), result) << what.name << ": " << step;
      }
    }
    EXPECT_EQ(pytorch.end(120s), 0) << pytorch.output();
    EXPECT_THAT(pytorch.output(), HasSubstr(theirs));
    etcd.stop();
  });
}

}  // namespace
}  // namespace hooke::interop
