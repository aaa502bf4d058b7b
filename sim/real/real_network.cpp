// Listeners and connecting.
#include "sim/real/real_network.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "sim/port/check.h"
#include "sim/real/real_stream.h"
#include "sim/real/resolver.h"
#include "sim/real/tls_stream.h"

namespace hooke::real {
namespace {

/// As many as PyTorch's store lets wait (torch/csrc/distributed/c10d: DEFAULT_BACKLOG).
constexpr int kBacklog = 2048;

sim::Failure failure_of(int error, const std::string& what) {
  HOOKE_CHECK(error != 0, "a failure has a reason");
  const std::string detail = what + ": " + std::strerror(error);
  switch (error) {
    case ECONNREFUSED: return {sim::Fault::connection_refused, detail, false};
    case ECONNRESET:
    case EPIPE: return {sim::Fault::connection_reset, detail, false};
    case ETIMEDOUT: return {sim::Fault::timed_out, detail, false};
    case EADDRINUSE: return {sim::Fault::address_in_use, detail, false};
    case ENOENT:
    case ENOTDIR: return {sim::Fault::not_found, detail, false};
    case EACCES:
    case EPERM:
    case EROFS:
    case EMFILE:
    case ENFILE: return {sim::Fault::denied, detail, false};
    default: return {sim::Fault::unreachable, detail, false};
  }
}

sim::Endpoint endpoint_of(const sockaddr_storage& bytes, socklen_t size) {
  HOOKE_CHECK(size <= sizeof(bytes), "an address lies in its storage");
  if (bytes.ss_family == AF_UNIX) {
    const auto* file = reinterpret_cast<const sockaddr_un*>(&bytes);
    constexpr std::size_t kHead = offsetof(sockaddr_un, sun_path);
    if (size <= kHead) return {};  // a client has no file
    return {std::string(file->sun_path, strnlen(file->sun_path, size - kHead)), {}};
  }
  Address address{bytes, size};
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&bytes);
  if (bytes.ss_family == AF_INET6) {
    std::string text = address.text();
    // An IPv4 peer of a socket that serves both.
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) text = text.substr(text.rfind(':') + 1);
    return {text, sim::PortNumber{ntohs(v6->sin6_port)}};
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&bytes);
  return {address.text(), sim::PortNumber{ntohs(v4->sin_port)}};
}

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/// A bound socket of one family, on all interfaces or on loopback alone; none with errno set.
Descriptor bind_port(int family, sim::PortNumber port, bool loopback) {
  HOOKE_CHECK(family == AF_INET || family == AF_INET6, "a port is one of the Internet's");
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return socket;
  const int on = 1;
  const int off = 0;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_storage address{};
  socklen_t size = sizeof(sockaddr_in);
  if (family == AF_INET6) {
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port.value);
    if (loopback) v6.sin6_addr = in6addr_loopback;
    size = sizeof(v6);
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port.value);
    if (loopback) v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    const int error = errno;
    socket.close();
    errno = error;
  }
  return socket;
}

/// The address of a socket file whose path is not too long.
sockaddr_un file_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  HOOKE_CHECK(path.size() <= sim::kSocketPathBytesMax, "a path fits the address of a socket file");
  path.copy(address.sun_path, sim::kSocketPathBytesMax);
  return address;
}

/// Removes a socket file on which nothing listens any more; errno is EADDRINUSE otherwise.
bool remove_if_deserted(const std::string& path) {
  struct stat kind {};
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const sockaddr_un address = file_address(path);
  const bool deserted =
      socket && lstat(path.c_str(), &kind) == 0 && S_ISSOCK(kind.st_mode) &&
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
      errno == ECONNREFUSED;
  if (deserted) return unlink(path.c_str()) == 0;
  errno = EADDRINUSE;
  return false;
}

sim::Failure too_long(const std::string& path) {
  return {sim::Fault::denied,
          path + ": longer than " + std::to_string(sim::kSocketPathBytesMax) + " bytes", false};
}

class RealListener final : public sim::Listener, private Watcher {
 public:
  RealListener(RealNetwork& network, Descriptor socket, sim::AcceptHandler& handler)
      : network_(network), socket_(std::move(socket)), handler_(handler), reserve_(spare()) {
    HOOKE_CHECK(socket_.get() >= 0, "a listener has a socket");
    watch_ = network_.loop().watch(socket_.get(), *this);
  }
  ~RealListener() override {
    *here_ = false;
    network_.loop().forget(socket_.get(), watch_);
  }
  RealListener(const RealListener&) = delete;
  RealListener& operator=(const RealListener&) = delete;
  [[nodiscard]] sim::Endpoint local() const override { return network_.local_of(socket_.get()); }

 private:
  static Descriptor spare() { return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

  void on_ready(std::uint32_t) override {
    const std::shared_ptr<bool> here = here_;  // a handler may destroy us
    while (*here) {
      Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      HOOKE_CHECK(socket.get() != socket_.get(), "a connection has a socket of its own");
      if (socket) {
        send_at_once(socket.get());
        handler_.on_accept(std::make_unique<RealStream>(network_, std::move(socket)));
      } else if (errno == EMFILE || errno == ENFILE) {
        if (!turn_one_away()) break;
      } else if (errno != EINTR && errno != ECONNABORTED) {
        break;
      }
    }
  }

  /// All descriptors are in use: a client that can wait for nothing is better told so. False when
  /// not even that is possible now.
  bool turn_one_away() {
    HOOKE_CHECK(*here_, "a listener that turns a client away is there");
    reserve_.close();
    // Closed before the reserve is taken again: there is one descriptor for the two.
    const bool told =
        static_cast<bool>(Descriptor(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    const bool none_waits = !told && (errno == EAGAIN || errno == EWOULDBLOCK);
    reserve_ = spare();
    // No event tells of clients that wait already: have another look.
    const bool ready_for_the_next = told && reserve_;
    if (!ready_for_the_next && !none_waits) network_.loop().again(watch_, EPOLLIN);
    return ready_for_the_next;
  }

  RealNetwork& network_;
  Descriptor socket_;
  WatchId watch_;
  sim::AcceptHandler& handler_;
  Descriptor reserve_;  ///< given up for a moment when no other descriptor is left
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);
};

/// Waits for one descriptor on behalf of one fiber.
class Connecting final : public Watcher {
 public:
  Connecting(RealNetwork& network, int socket)
      : network_(network),
        socket_(socket),
        ticket_(network.executor().ticket()),
        watch_(network.loop().watch(socket, *this)) {}
  ~Connecting() override { network_.loop().forget(socket_, watch_); }
  Connecting(const Connecting&) = delete;
  Connecting& operator=(const Connecting&) = delete;
  bool wait(std::optional<sim::MonotonicTime> deadline) {
    HOOKE_CHECK(socket_ >= 0, "a connection under way has a socket");
    return network_.executor().park(ticket_, deadline) == sim::Wake::woken;
  }
  void on_ready(std::uint32_t events) override {
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) {
      static_cast<void>(network_.executor().wake(ticket_));
    }
  }

 private:
  RealNetwork& network_;
  int socket_;
  sim::ParkTicket ticket_;
  WatchId watch_;
};

}  // namespace

RealNetwork::RealNetwork(EventLoop& loop, sim::Executor& executor)
    : loop_(loop), executor_(executor), last_words_(loop) {}

sim::Endpoint RealNetwork::local_of(int socket) const {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return endpoint_of(address, size);
}

sim::Endpoint RealNetwork::peer_of(int socket) const {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return endpoint_of(address, size);
}

sim::Outcome<std::unique_ptr<sim::Listener>> RealNetwork::listen(sim::PortNumber port,
                                                                 sim::AcceptHandler& handler) {
  return serve(bind_port(AF_INET6, port, false), AF_INET, port, false, handler);
}

sim::Outcome<std::unique_ptr<sim::Listener>> RealNetwork::listen_loopback(
    sim::PortNumber port, sim::AcceptHandler& handler) {
  return serve(bind_port(AF_INET, port, true), AF_INET6, port, true, handler);
}

/// `socket`, or one of the other family where there is none of its family.
sim::Outcome<std::unique_ptr<sim::Listener>> RealNetwork::serve(Descriptor socket, int other_family,
                                                                sim::PortNumber port, bool loopback,
                                                                sim::AcceptHandler& handler) {
  if (!socket && errno != EADDRINUSE && errno != EACCES) {
    socket = bind_port(other_family, port, loopback);
  }
  if (!socket) return failure_of(errno, "listening on port " + std::to_string(port.value));
  HOOKE_CHECK(port.value == 0 || local_of(socket.get()).port == port,
              "a listener has the port that it was asked for");
  return std::unique_ptr<sim::Listener>(
      std::make_unique<RealListener>(*this, std::move(socket), handler));
}

sim::Outcome<std::unique_ptr<sim::Stream>> RealNetwork::connect(
    const sim::Endpoint& to, std::optional<sim::MonotonicTime> deadline) {
  const std::string what = "connecting to " + to.host + ":" + std::to_string(to.port.value);
  const auto resolved =
      real::resolve(loop_, executor_, slow_look_ups_, to.host, to.port.value, deadline);
  if (!resolved) return resolved.failure();
  sim::Failure last{sim::Fault::unresolvable, what + ": no address", false};
  for (const Address& address : resolved.value().addresses) {
    HOOKE_CHECK(0 < address.size && address.size <= sizeof(address.bytes),
                "an address that was found lies in its storage");
    Descriptor socket(
        ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) {
      last = failure_of(errno, what);
      continue;
    }
    send_at_once(socket.get());
    int error = 0;
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) !=
        0) {
      error = errno;
      if (error == EINPROGRESS) {
        Connecting connecting(*this, socket.get());
        if (!connecting.wait(deadline)) return sim::Failure{sim::Fault::timed_out, what, false};
        socklen_t size = sizeof(error);
        getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      }
    }
    if (error == 0) {
      return std::unique_ptr<sim::Stream>(std::make_unique<RealStream>(*this, std::move(socket)));
    }
    last = failure_of(error, what + " (" + address.text() + ")");
  }
  return last;
}

sim::Outcome<std::unique_ptr<sim::Listener>> RealNetwork::listen_local(
    const std::string& path, sim::AcceptHandler& handler) {
  if (path.size() > sim::kSocketPathBytesMax) return too_long(path);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return failure_of(errno, path);
  const sockaddr_un address = file_address(path);
  const auto bound = [&] {
    return bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  };
  if (!bound() && !(errno == EADDRINUSE && remove_if_deserted(path) && bound())) {
    return failure_of(errno, path);
  }
  if (chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return failure_of(errno, path);
  }
  return std::unique_ptr<sim::Listener>(
      std::make_unique<RealListener>(*this, std::move(socket), handler));
}

sim::Outcome<std::unique_ptr<sim::Stream>> RealNetwork::connect_local(
    const std::string& path, std::optional<sim::MonotonicTime>) {
  if (path.size() > sim::kSocketPathBytesMax) return too_long(path);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return failure_of(errno, path);
  const sockaddr_un address = file_address(path);
  // Never under way: there is room among the waiting connections, or there is not.
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return failure_of(errno == EAGAIN ? ECONNREFUSED : errno, path);
  }
  return std::unique_ptr<sim::Stream>(std::make_unique<RealStream>(*this, std::move(socket)));
}

sim::Outcome<std::unique_ptr<sim::Stream>> RealNetwork::connect_secure(
    const sim::Endpoint& to, const sim::TlsOptions& tls,
    std::optional<sim::MonotonicTime> deadline) {
  auto plain = connect(to, deadline);
  if (!plain) return plain;
  return protect(std::move(plain).value(), to.host, tls, deadline);
}

sim::Outcome<std::vector<std::string>> RealNetwork::resolve(const std::string& host) {
  const auto resolved = real::resolve(loop_, executor_, slow_look_ups_, host, 0, std::nullopt);
  if (!resolved) return resolved.failure();
  std::vector<std::string> out;
  for (const Address& address : resolved.value().addresses) out.push_back(address.text());
  return out;
}

sim::Outcome<std::string> RealNetwork::canonical_name(const std::string& host) {
  const auto resolved = real::resolve(loop_, executor_, slow_look_ups_, host, 0, std::nullopt);
  if (!resolved) return resolved.failure();
  return resolved.value().canonical_name.empty() ? host : resolved.value().canonical_name;
}

std::string RealNetwork::host_name() const {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::string RealNetwork::fully_qualified_name() const {
  return fully_qualified(host_name(), slow_look_ups_);
}

}  // namespace hooke::real
