// Answers are read by Beast's parser, which sees no socket.
#include "model/http/http_client.h"

#include <algorithm>
#include <array>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <utility>

#include "model/signals/interruptible_stream.h"
#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

namespace http = boost::beast::http;

constexpr std::uint64_t kAnswerBytesMax = 64UL << 20U;
/// How long a client that must not be deaf waits for a connection: a caught signal does not end
/// that.
constexpr sim::Duration kConnectMax = std::chrono::seconds(5);

void append_text(std::string& out, const sim::Endpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  out.append(v6 ? "[" : "").append(endpoint.host).append(v6 ? "]:" : ":");
  out.append(std::to_string(endpoint.port.value));
}

sim::Value bytes_of(const HttpRequest& request, const HttpServer& server) {
  HOOKE_CHECK(!request.method.empty() && request.target.starts_with('/'),
              "a request has a method, and a target that begins with a slash");
  HOOKE_CHECK(request.body.empty() || request.whole.empty(), "a request has one body");
  const std::size_t body_bytes = request.body.size() + request.whole.size();
  std::string out;
  out.reserve(request.target.size() + request.authorization.size() + request.body.size() + 200);
  const auto field = [&out](std::string_view name, std::string_view value) {
    out.append(name).append(": ", 2).append(value).append("\r\n", 2);
  };
  out.append(request.method).append(" ", 1).append(request.target).append(" HTTP/1.1\r\nHost: ");
  append_text(out, server.endpoint);
  out.append("\r\nAccept: application/json\r\n");
  if (!request.content_type.empty()) field("Content-Type", request.content_type);
  if (!request.authorization.empty()) field("Authorization", request.authorization);
  // A length of none is said where a body would be expected.
  const bool expected = request.method == "POST" || request.method == "PUT";
  if (expected || body_bytes > 0) field("Content-Length", std::to_string(body_bytes));
  out.append("\r\n").append(request.body);
  return sim::Value(std::make_shared<HttpRequestText>(std::move(out), request.whole));
}

/// What has the same bytes; of two values only the very same.
bool are_alike(const HttpRequest& a, const HttpRequest& b) {
  return a.whole.payload() == b.whole.payload() && a.body == b.body && a.target == b.target &&
         a.method == b.method && a.content_type == b.content_type &&
         a.authorization == b.authorization;
}

sim::Outcome<sim::Done> send(sim::Stream& stream, const sim::Value& bytes) {
  sim::Buffer out;
  out.append(bytes);
  return stream.write(std::move(out));
}

std::unique_ptr<sim::Stream> connected(sim::Ports& ports, const HttpServer& server,
                                       sim::MonotonicTime deadline) {
  if (server.interruptible) {
    if (ports.processes.signal_pending()) {
      throw HttpError(sim::Failure{sim::Fault::timed_out, "a signal came first", false});
    }
    deadline = std::min(deadline, ports.clock.monotonic_now() + kConnectMax);
  }
  const bool raises = !server.interruptible && server.main_thread == ports.executor.ticket().fiber;
  if (raises) check_signals(ports);
  auto stream = server.tls ? ports.network.connect_secure(server.endpoint, *server.tls, deadline)
                           : ports.network.connect(server.endpoint, deadline);
  if (!stream) throw HttpError(stream.failure());
  if (server.interruptible) return interruptible(ports, std::move(stream).value());
  if (!server.main_thread) return std::move(stream).value();
  return raising_in(*server.main_thread, ports, std::move(stream).value());
}

/// The characters that no part of a target needs to escape (RFC 3986, section 2.3).
constexpr std::array<bool, 256> kUnreserved = [] {
  std::array<bool, 256> unreserved{};
  for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-._~")) {
    unreserved[static_cast<unsigned char>(c)] = true;
  }
  return unreserved;
}();

/// What is certain of a request that was sent: nothing.
[[noreturn]] void fail(sim::Fault fault, const std::string& detail, bool answer_begun = false) {
  throw HttpError(sim::Failure{fault, detail, true}, answer_begun);
}

}  // namespace

HttpError::HttpError(const sim::Failure& failure, bool answer_begun)
    : std::runtime_error(std::string(to_string(failure.fault)) +
                         (failure.detail.empty() ? "" : " (" + failure.detail + ")")),
      fault_(failure.fault),
      unknown_(failure.unknown),
      answer_begun_(answer_begun) {}

std::string percent_encoded(std::string_view text, std::string_view kept) {
  std::string out;
  append_percent_encoded(out, text, kept);
  return out;
}

void append_percent_encoded(std::string& out, std::string_view text, std::string_view kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto is_plain = [kept](char c) {
    return kUnreserved[static_cast<unsigned char>(c)] || kept.find(c) != std::string_view::npos;
  };
  // Of a text in Base64 one character in thirty-two is escaped.
  out.reserve(out.size() + text.size() + text.size() / 12);
  for (;;) {
    const auto* const special = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto plain = static_cast<std::size_t>(special - text.begin());
    out.append(text.substr(0, plain));
    if (plain == text.size()) return;
    const auto byte = static_cast<unsigned char>(text[plain]);
    const char escape[3] = {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    out.append(escape, sizeof(escape));
    text.remove_prefix(plain + 1);
  }
}

const std::string* HttpResponse::header(std::string_view name) const {
  const auto is_alike = [](char lower, char c) {
    return (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) == lower;
  };
  if (headers == nullptr) return nullptr;
  const auto found = std::find_if(headers->rbegin(), headers->rend(), [&](const auto& header) {
    return std::equal(name.begin(), name.end(), header.first.begin(), header.first.end(), is_alike);
  });
  return found == headers->rend() ? nullptr : &found->second;
}

/// An answer on its way in.
class HttpAnswer {
 public:
  /// Takes in what comes next; false when nothing more will.
  bool read_more(sim::Stream& stream, sim::MonotonicTime deadline) {
    auto received = stream.read(deadline);
    if (!received) give_up(received.failure().fault, received.failure().detail);
    if (!parser_ && take_understood(*received)) return false;
    if (!parser_) parser_.emplace().body_limit(kAnswerBytesMax);
    boost::system::error_code error;
    if (received->empty()) {
      if (!parser_->is_header_done()) give_up(sim::Fault::connection_reset, "no answer came");
      parser_->put_eof(error);
      if (error) give_up(sim::Fault::connection_reset, "the answer was cut short");
      return false;
    }
    if (pending_.empty() && !parser_->is_header_done()) take_head(*received);
    if (is_before_body_ && take_whole(*received)) return false;
    is_before_body_ = is_before_body_ && received->empty();
    understand(received->take_bytes(received->size()));
    return !is_done();
  }

  [[nodiscard]] bool is_done() const {
    return head_ != nullptr || (parser_ && parser_->is_done()) || !whole_.empty();
  }
  [[nodiscard]] int status() const {
    if (head_ != nullptr) return head_->status;
    return is_head_done() ? static_cast<int>(parser_->get().result_int()) : 0;
  }
  /// The body so far; it is taken out.
  sim::Value take_body() {
    if (!whole_.empty() && !std::exchange(whole_is_told_, true)) return whole_;
    if (!parser_) return sim::Value();
    return sim::Value(std::exchange(parser_->get().body(), {}));
  }
  /// The body, where it came in one piece; else empty.
  [[nodiscard]] const sim::Value& whole() const { return whole_; }
  [[nodiscard]] bool may_keep_connection() const {
    if (head_ != nullptr) return head_->keeps_connection;
    return parser_->get().keep_alive() && pending_.empty();
  }
  [[nodiscard]] std::shared_ptr<const HttpFields> headers() const {
    if (head_ != nullptr) return head_->fields;
    constexpr std::size_t kMostly = 6;
    auto out = std::make_shared<HttpFields>();
    out->reserve(kMostly);
    for (const auto& field : parser_->get()) out->emplace_back(field.name_string(), field.value());
    return out;
  }

 private:
  [[nodiscard]] bool is_head_done() const { return parser_ && parser_->is_header_done(); }
  void understand(const std::string& bytes) {
    pending_ += bytes;
    boost::system::error_code error;
    while (!pending_.empty() && !parser_->is_done()) {
      const std::size_t used =
          parser_->put(boost::beast::net::const_buffer(pending_.data(), pending_.size()), error);
      HOOKE_CHECK(used <= pending_.size(), "no more is understood than was read");
      pending_.erase(0, used);
      if (error == http::error::need_more) break;
      if (error) give_up(sim::Fault::malformed, "the answer is no HTTP: " + error.message());
      if (!parser_->is_header_done() || parser_->eager()) continue;
      // Before the body: Beast makes room for the length that was announced, whatever its limit.
      if (parser_->content_length().value_or(0) > kAnswerBytesMax) {
        give_up(sim::Fault::malformed, "the answer is too long");
      }
      parser_->eager(true);
    }
  }
  /// A head that was understood before, and behind it its body and nothing else.
  bool take_understood(sim::Buffer& received) {
    const auto text = text_in_front<HttpHeadText>(received);
    if (text == nullptr || text->reading() == nullptr) return false;
    HOOKE_CHECK(text->reading()->fields != nullptr, "a head that was understood has its fields");
    const std::uint64_t body = text->reading()->body_bytes;
    if (received.size() != text->size() + body) return false;
    received.drop(text->size());
    whole_ = received.take(body);
    head_ = text->reading();
    return true;
  }
  /// The head and nothing behind it, where it has come whole.
  void take_head(sim::Buffer& received) {
    const auto text = text_in_front<HttpHeadText>(received);
    const std::size_t end = received.front_text().find("\r\n\r\n");
    if (text == nullptr && end == std::string_view::npos) return;
    understand(received.take_bytes(text != nullptr ? text->size() : end + 4));
    is_before_body_ = parser_->is_header_done() && !parser_->is_done() && pending_.empty();
    const bool is_understood = parser_->is_header_done() && pending_.empty();
    if (text == nullptr || !is_understood || !parser_->content_length()) return;
    text->understand(std::make_shared<const HttpHead>(
        HttpHead{status(), headers(), parser_->get().keep_alive(), *parser_->content_length()}));
  }
  /// The head has been understood, and `rest` is the body and nothing else: a value that a service
  /// in the same program gave.
  bool take_whole(sim::Buffer& rest) {
    if (rest.empty()) return false;
    HOOKE_CHECK(whole_.empty() && parser_->is_header_done(),
                "an answer has one body, behind its head");
    if (parser_->content_length() == rest.size() && rest.front_text().empty()) {
      whole_ = rest.take(rest.size());
      return true;
    }
    if (!parser_->chunked()) return false;
    constexpr std::string_view kEnd = "\r\n0\r\n\r\n";
    const std::string_view line = rest.front_text();
    std::uint64_t size = 0;
    const auto number = std::from_chars(line.data(), line.data() + line.size(), size, 16);
    const std::string_view after(number.ptr, line.data() + line.size());
    if (number.ec != std::errc() || after != "\r\n" || size == 0 || size > kAnswerBytesMax ||
        rest.size() != line.size() + size + kEnd.size()) {
      return false;
    }
    std::string end(kEnd.size(), '\0');
    rest.peek(line.size() + size, end.size(), end.data());
    if (end != kEnd) return false;
    rest.drop(line.size());
    whole_ = rest.take(size);
    rest.drop(kEnd.size());
    HOOKE_CHECK(rest.empty(), "the end of its body is the end of an answer");
    return true;
  }
  [[noreturn]] void give_up(sim::Fault fault, const std::string& detail) const {
    fail(fault, detail, is_head_done());
  }

  std::shared_ptr<const HttpHead> head_;  ///< set: all has come, and the parser has seen none of it
  std::optional<http::response_parser<http::string_body>> parser_;
  std::string pending_;          ///< received, not yet understood
  bool is_before_body_ = false;  ///< the head is understood, and nothing of the body has come
  sim::Value whole_;             ///< the body, past the parser
  bool whole_is_told_ = false;
};

HttpClient::HttpClient(sim::Ports& ports, HttpServer server)
    : ports_(ports), server_(std::move(server)) {}

HttpClient::~HttpClient() = default;

HttpResponse HttpClient::exchange(const HttpRequest& request, sim::MonotonicTime deadline) {
  // Out of the way until the answer is whole: what fails in between must not be used again.
  std::unique_ptr<sim::Stream> stream = std::move(stream_);
  if (stream == nullptr) stream = connected(ports_, server_, deadline);
  HOOKE_CHECK(stream != nullptr, "a request is sent on a connection");
  if (asked_text_.empty() || !are_alike(asked_, request)) {
    asked_text_ = bytes_of(request, server_);
    asked_ = request;
  }
  if (const auto sent = send(*stream, asked_text_); !sent) {
    fail(sent.failure().fault, sent.failure().detail);
  }
  HttpAnswer answer;
  while (answer.read_more(*stream, deadline)) {
  }
  HOOKE_CHECK(answer.is_done() || answer.status() != 0, "an answer that ends has a status");
  HttpResponse response{answer.status(), answer.headers(), {}, answer.whole()};
  if (response.whole.empty()) response.body = answer.take_body().bytes();
  if (answer.may_keep_connection()) stream_ = std::move(stream);
  return response;
}

HttpFeed::HttpFeed(sim::Ports& ports, const HttpServer& server, const HttpRequest& request,
                   sim::MonotonicTime deadline)
    : stream_(connected(ports, server, deadline)), answer_(std::make_unique<HttpAnswer>()) {
  HOOKE_CHECK(stream_ != nullptr, "a request is sent on a connection");
  if (const auto sent = send(*stream_, bytes_of(request, server)); !sent) {
    fail(sent.failure().fault, sent.failure().detail);
  }
}

HttpFeed::~HttpFeed() = default;

std::optional<sim::Value> HttpFeed::next(sim::MonotonicTime deadline) {
  for (;;) {
    if (sim::Value piece = answer_->take_body(); !piece.empty()) return piece;
    if (answer_->is_done() || !answer_->read_more(*stream_, deadline)) {
      sim::Value rest = answer_->take_body();
      if (rest.empty()) return std::nullopt;
      return rest;
    }
  }
}

HttpResponse HttpFeed::rest(sim::MonotonicTime deadline) {
  HttpResponse response;
  while (auto piece = next(deadline)) {
    if (response.whole.empty() && response.body.empty()) {
      response.whole = *std::move(piece);
      continue;
    }
    if (response.body.empty()) response.body = std::exchange(response.whole, {}).bytes();
    response.body += piece->bytes();
  }
  response.status = status();
  return response;
}

int HttpFeed::status() const {
  return answer_->status();
}

}  // namespace hooke::model
