// OpenSSL never sees a socket: it reads and writes two pieces of memory, and a process that waits
// for the peer is a fiber in read().
#include "sim/real/tls_stream.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <utility>

#include "sim/port/check.h"

namespace hooke::real {
namespace {

constexpr std::size_t kRecordBytes = 16UL * 1024;

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Context = std::unique_ptr<SSL_CTX, Freed<&SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freed<&SSL_free>>;

std::string last_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown reason" : reason;
}

sim::Failure denied(const std::string& what) {
  return {sim::Fault::denied, what, false};
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

sim::Outcome<Context> context_of(const sim::TlsOptions& tls) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return denied("TLS: " + last_error());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (tls.authority_file.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (SSL_CTX_load_verify_locations(context.get(), tls.authority_file.c_str(), nullptr) !=
             1) {
    return denied(tls.authority_file + ": no certificates of authorities: " + last_error());
  }
  if (tls.certificate_file.empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(context.get(), tls.certificate_file.c_str()) != 1) {
    return denied(tls.certificate_file + ": no certificate: " + last_error());
  }
  const std::string& key = tls.key_file.empty() ? tls.certificate_file : tls.key_file;
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return denied(key + ": no key of that certificate: " + last_error());
  }
  return context;
}

class TlsStream final : public sim::Stream {
 public:
  TlsStream(std::unique_ptr<sim::Stream> plain, Context context, Session session)
      : plain_(std::move(plain)), context_(std::move(context)), session_(std::move(session)) {
    HOOKE_CHECK(plain_ != nullptr && session_ != nullptr,
                "a protected stream lies over another one");
  }
  ~TlsStream() override {
    if (usable_) finish_writing();
  }
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  sim::Outcome<sim::Done> shake_hands(std::optional<sim::MonotonicTime> deadline) {
    HOOKE_CHECK(!usable_, "hands are shaken once");
    for (;;) {
      const int result = SSL_connect(session_.get());
      if (const auto sent = send_records(); !sent) return sent;
      if (result == 1) {
        usable_ = true;
        return sim::Done{};
      }
      if (SSL_get_error(session_.get(), result) != SSL_ERROR_WANT_READ) return refused();
      const auto more = receive_records(deadline);
      if (!more) return more.failure();
      if (!more.value()) return denied("the peer ended the TLS handshake");
    }
  }

  sim::Outcome<sim::Done> write(sim::Buffer bytes) override {
    const sim::Value all = bytes.take(bytes.size());
    std::string_view left = all.bytes();
    while (!left.empty()) {
      std::size_t count = 0;
      if (SSL_write_ex(session_.get(), left.data(), left.size(), &count) != 1) return broken();
      HOOKE_CHECK(0 < count && count <= left.size(), "what is protected moves on");
      left.remove_prefix(count);
    }
    return send_records();
  }

  sim::Outcome<sim::Buffer> read(std::optional<sim::MonotonicTime> deadline) override {
    for (;;) {
      std::string text(kRecordBytes, '\0');
      std::size_t count = 0;
      const int result = SSL_read_ex(session_.get(), text.data(), text.size(), &count);
      if (result == 1) {
        HOOKE_CHECK(count <= text.size(), "no more comes than there is room for");
        HOOKE_CHECK(count > 0, "what is read is something");
        text.resize(count);
        return sim::Buffer(std::move(text));
      }
      const int reason = SSL_get_error(session_.get(), result);
      if (reason == SSL_ERROR_ZERO_RETURN) return sim::Buffer();
      if (reason != SSL_ERROR_WANT_READ) return broken();
      if (const auto sent = send_records(); !sent) return sent.failure();
      const auto more = receive_records(deadline);
      if (!more) return more.failure();
      // Without TLS' own farewell the end may be somebody else's doing.
      if (!more.value()) return broken();
    }
  }

  void set_handler(sim::StreamHandler&) override {
    HOOKE_CHECK(false, "a protected stream is read by fibers");
  }
  void finish_writing() override {
    SSL_shutdown(session_.get());
    static_cast<void>(send_records());
    plain_->finish_writing();
  }
  void reset() override {
    usable_ = false;
    plain_->reset();
  }
  [[nodiscard]] sim::Endpoint local() const override { return plain_->local(); }
  [[nodiscard]] sim::Endpoint peer() const override { return plain_->peer(); }

 private:
  sim::Outcome<sim::Done> send_records() {
    BIO* const outgoing = SSL_get_wbio(session_.get());
    std::string records(BIO_ctrl_pending(outgoing), '\0');
    if (records.empty()) return sim::Done{};
    const int taken = BIO_read(outgoing, records.data(), static_cast<int>(records.size()));
    HOOKE_CHECK(taken == static_cast<int>(records.size()), "all that is to be sent is taken");
    return plain_->write(sim::Buffer(std::move(records)));
  }
  /// Feeds what the peer has sent; false: it has ended.
  sim::Outcome<bool> receive_records(std::optional<sim::MonotonicTime> deadline) {
    auto received = plain_->read(deadline);
    if (!received) return received.failure();
    if (received->empty()) return false;
    const sim::Value records = received->take(received->size());
    const int given = BIO_write(SSL_get_rbio(session_.get()), records.bytes().data(),
                                static_cast<int>(records.size()));
    HOOKE_CHECK(given == static_cast<int>(records.size()), "all that has come is taken in");
    return true;
  }
  sim::Failure refused() {
    const long verdict = SSL_get_verify_result(session_.get());
    if (verdict != X509_V_OK) {
      return denied(std::string("TLS: the peer's certificate: ") +
                    X509_verify_cert_error_string(verdict));
    }
    return denied("TLS: " + last_error());
  }
  sim::Failure broken() {
    usable_ = false;
    return {sim::Fault::connection_reset, "TLS: " + last_error(), false};
  }

  std::unique_ptr<sim::Stream> plain_;
  Context context_;
  Session session_;
  bool usable_ = false;
};

}  // namespace

sim::Outcome<std::unique_ptr<sim::Stream>> protect(std::unique_ptr<sim::Stream> plain,
                                                   const std::string& host,
                                                   const sim::TlsOptions& tls,
                                                   std::optional<sim::MonotonicTime> deadline) {
  auto context = context_of(tls);
  if (!context) return context.failure();
  Session session(SSL_new(context->get()));
  if (session == nullptr) return denied("TLS: " + last_error());
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(session.get());
  if (is_address(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str());
  } else {
    SSL_set_tlsext_host_name(session.get(), host.c_str());
    SSL_set1_host(session.get(), host.c_str());
  }
  SSL_set_bio(session.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  auto stream =
      std::make_unique<TlsStream>(std::move(plain), std::move(context).value(), std::move(session));
  if (const auto done = stream->shake_hands(deadline); !done) return done.failure();
  return std::unique_ptr<sim::Stream>(std::move(stream));
}

}  // namespace hooke::real
