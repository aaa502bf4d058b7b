// Options of both APIs.
#include "model/rendezvous/backends/etcd_backend.h"

#include <stdexcept>

#include "model/rendezvous/backends/etcd_server.h"
#include "model/rendezvous/backends/setting_word.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr sim::Duration kEtcdReadTimeout = std::chrono::seconds(60);

}  // namespace

EtcdOptions etcd_options(const RendezvousParameters& parameters) {
  const std::string protocol = setting_word(parameters.get("protocol").value_or("http"));
  EtcdOptions options;
  options.server = etcd_server(parameters, protocol, {"ca_cert", "ssl_cert", "ssl_cert_key"});
  options.read_timeout = parameters.get_as_seconds("read_timeout").value_or(kEtcdReadTimeout);
  if (options.read_timeout <= sim::Duration::zero()) {
    throw std::invalid_argument("the read timeout must be a positive number of seconds");
  }
  HOOKE_CHECK((protocol == "https") == options.server.tls.has_value(),
              "what is encrypted has its settings");
  options.user = parameters.get("user").value_or("");
  options.password = parameters.get("password").value_or("");
  return options;
}

std::string etcd_v2_store_prefix() {
  return "/torch/elastic/store";
}

std::string etcd_v3_store_prefix() {
  return "/torch/elastic/store/";
}

}  // namespace hooke::model
