// The time is kept by the kernel: TCP_USER_TIMEOUT (tcp(7)) ends a connection whose peer
// acknowledges nothing, or keeps its window shut.
#include "sim/real/last_words.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>

#include "sim/port/check.h"

namespace hooke::real {
namespace {

constexpr std::chrono::milliseconds kAtTheEnd{2000};
constexpr unsigned kUnheardMilliseconds = 15'000;
constexpr std::size_t kBytesMax = 64UL * 1024 * 1024;

}  // namespace

class LastWords::Connection final : public Watcher {
 public:
  Connection(LastWords& all, Descriptor socket, std::string rest)
      : all_(all),
        socket_(std::move(socket)),
        rest_(std::move(rest)),
        watch_(all.loop_.watch(socket_.get(), *this)) {}
  ~Connection() override { all_.loop_.forget(socket_.get(), watch_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends what it can; true when nothing more is to be done.
  bool send_more() {
    HOOKE_CHECK(sent_ <= rest_.size(), "no more is sent than was left");
    while (sent_ < rest_.size()) {
      const ssize_t count =
          send(socket_.get(), rest_.data() + sent_, rest_.size() - sent_, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno != EAGAIN && errno != EWOULDBLOCK;
      HOOKE_CHECK(static_cast<std::size_t>(count) <= rest_.size() - sent_,
                  "no more is sent than was left");
      sent_ += static_cast<std::size_t>(count);
    }
    HOOKE_CHECK(sent_ == rest_.size(), "no more is sent than was left");
    return true;
  }
  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] std::size_t bytes() const { return rest_.size(); }

  void on_ready(std::uint32_t) override {
    if (!send_more()) return;
    std::erase_if(all_.connections_, [this](const auto& other) { return other.get() == this; });
  }

 private:
  LastWords& all_;
  Descriptor socket_;
  std::string rest_;
  std::size_t sent_ = 0;
  WatchId watch_;
};

LastWords::LastWords(EventLoop& loop) : loop_(loop) {}

LastWords::~LastWords() {
  const sim::WorldTime end = loop_.now() + kAtTheEnd;
  while (!connections_.empty() && loop_.now() < end) {
    pollfd waiting{connections_.back()->socket(), POLLOUT, 0};
    poll(&waiting, 1, static_cast<int>((end - loop_.now()) / std::chrono::milliseconds(1)));
    if (connections_.back()->send_more()) connections_.pop_back();
  }
}

void LastWords::take_over(Descriptor socket, std::string rest) {
  HOOKE_CHECK(!rest.empty() && socket.get() >= 0, "a connection lingers for what was not sent");
  if (rest.size() > kBytesMax) return;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnheardMilliseconds,
             sizeof(kUnheardMilliseconds));
  std::size_t bytes = rest.size();
  for (const auto& other : connections_) bytes += other->bytes();
  std::size_t given_up = 0;
  while (bytes > kBytesMax) {
    HOOKE_CHECK(given_up < connections_.size(), "what is too much is that of the others");
    bytes -= connections_[given_up++]->bytes();
  }
  HOOKE_CHECK(bytes <= kBytesMax && given_up <= connections_.size(),
              "what lingers has room, for the sake of the oldest");
  connections_.erase(connections_.begin(),
                     connections_.begin() + static_cast<std::ptrdiff_t>(given_up));
  connections_.push_back(std::make_unique<Connection>(*this, std::move(socket), std::move(rest)));
}

}  // namespace hooke::real
