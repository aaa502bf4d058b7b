// The options that both backends have, each under its own name for the files.
#include "model/rendezvous/backends/etcd_server.h"

#include <stdexcept>

#include "model/rendezvous/core/endpoint.h"

namespace hooke::model {

HttpServer etcd_server(const RendezvousParameters& parameters, const std::string& protocol,
                       const EtcdTlsOptions& tls) {
  constexpr std::uint16_t kEtcdPort = 2379;
  HttpServer server{parse_endpoint(parameters.endpoint, kEtcdPort), std::nullopt};
  if (protocol != "http" && protocol != "https") {
    throw std::invalid_argument("the protocol must be http or https, not \"" + protocol + "\"");
  }
  if (protocol == "https") {
    server.tls.emplace();
    server.tls->authority_file = parameters.get(tls.authority).value_or("");
    server.tls->certificate_file = parameters.get(tls.certificate).value_or("");
    server.tls->key_file = parameters.get(tls.key).value_or("");
  }
  return server;
}

}  // namespace hooke::model
