#pragma once
// Where a job's etcd is, as both etcd backends of PyTorch are told.

#include "model/http/http_client.h"
#include "model/rendezvous/core/handler.h"

namespace hooke::model {

/// The options under which a backend has its TLS files.
struct EtcdTlsOptions {
  const char* authority;
  const char* certificate;
  const char* key;
};

/// The endpoint (default port 2379), spoken to by `protocol`: http, or https with the files of
/// those options. std::invalid_argument for another one, and for what is no endpoint.
HttpServer etcd_server(const RendezvousParameters& parameters, const std::string& protocol,
                       const EtcdTlsOptions& tls);

}  // namespace hooke::model
