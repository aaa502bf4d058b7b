// A look-up that outlives its caller (a deadline, the end of the process) finishes without effect.
#include "sim/real/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>

#include "sim/port/check.h"

namespace hooke::real {
namespace {

struct Answer {
  int error = 0;
  Resolved resolved;
};

Answer ask(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_CANONNAME | AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  Answer answer;
  answer.error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (answer.error != 0) return answer;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    Address address;
    HOOKE_CHECK(entry->ai_addrlen <= sizeof(address.bytes), "an address has room in its storage");
    address.size = entry->ai_addrlen;
    std::copy_n(reinterpret_cast<const char*>(entry->ai_addr), entry->ai_addrlen,
                reinterpret_cast<char*>(&address.bytes));
    answer.resolved.addresses.push_back(address);
    if (entry->ai_canonname != nullptr && answer.resolved.canonical_name.empty()) {
      answer.resolved.canonical_name = entry->ai_canonname;
    }
  }
  HOOKE_CHECK(!answer.resolved.addresses.empty(), "a name that is found has an address");
  freeaddrinfo(list);
  return answer;
}

/// Shared by the asking fiber and the answering thread; the last owner frees it.
struct Question {
  std::string host;
  std::uint16_t port = 0;
  Descriptor signal;
  Answer answer;
  std::atomic<bool> answered = false;
};

class Wait final : public Watcher {
 public:
  Wait(EventLoop& loop, sim::Executor& executor, int fd)
      : loop_(loop), executor_(executor), fd_(fd), watch_(loop.watch(fd, *this)) {}
  ~Wait() override {
    HOOKE_CHECK(fd_ >= 0, "a descriptor stays open while it is watched");
    loop_.forget(fd_, watch_);
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  void until(std::optional<sim::MonotonicTime> deadline) {
    HOOKE_CHECK(fd_ >= 0, "an answer is waited for at an open descriptor");
    ticket_ = executor_.ticket();
    static_cast<void>(executor_.park(ticket_, deadline));
  }
  void on_ready(std::uint32_t events) override {
    if ((events & EPOLLIN) != 0) static_cast<void>(executor_.wake(ticket_));
  }

 private:
  EventLoop& loop_;
  sim::Executor& executor_;
  int fd_;
  WatchId watch_;
  sim::ParkTicket ticket_;
};

sim::Failure unresolvable(const std::string& host, int error) {
  return {sim::Fault::unresolvable, host + ": " + gai_strerror(error), false};
}

}  // namespace

std::string Address::text() const {
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&bytes), size, host.data(), host.size(),
                  nullptr, 0, NI_NUMERICHOST) != 0) {
    return "?";
  }
  return host.data();
}

sim::Outcome<Resolved> resolve(EventLoop& loop, sim::Executor& executor, SlowLookUps& slow,
                               const std::string& host, std::uint16_t port,
                               std::optional<sim::MonotonicTime> deadline) {
  if (Answer literal = ask(host, port, AI_NUMERICHOST); literal.error == 0) {
    return std::move(literal.resolved);
  }
  const auto question = std::make_shared<Question>();
  question->host = host;
  question->port = port;
  question->signal = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!question->signal) return unresolvable(host, EAI_MEMORY);
  Wait wait(loop, executor, question->signal.get());
  std::thread([question] {
    question->answer = ask(question->host, question->port, 0);
    question->answered = true;
    const std::uint64_t one = 1;
    static_cast<void>(::write(question->signal.get(), &one, sizeof(one)) == sizeof(one));
  }).detach();
  {
    const SlowLookUps::Watch watch(slow, host);
    wait.until(deadline);
  }
  if (!question->answered) return sim::Failure{sim::Fault::timed_out, "resolving " + host, false};
  if (question->answer.error != 0) return unresolvable(host, question->answer.error);
  return std::move(question->answer.resolved);
}

std::string fully_qualified(const std::string& host_name, SlowLookUps& slow) {
  const SlowLookUps::Watch watch(slow, host_name);
  const Answer answer = ask(host_name, 0, 0);
  if (answer.resolved.addresses.empty()) return host_name;
  const Address& address = answer.resolved.addresses.front();
  const void* raw = &reinterpret_cast<const sockaddr_in*>(&address.bytes)->sin_addr;
  socklen_t size = sizeof(in_addr);
  if (address.bytes.ss_family == AF_INET6) {
    raw = &reinterpret_cast<const sockaddr_in6*>(&address.bytes)->sin6_addr;
    size = sizeof(in6_addr);
  }
  hostent entry{};
  hostent* found = nullptr;
  std::array<char, 8192> memory{};
  int error = 0;
  if (gethostbyaddr_r(raw, size, address.bytes.ss_family, &entry, memory.data(), memory.size(),
                      &found, &error) != 0 ||
      found == nullptr) {
    return host_name;
  }
  const std::string official = found->h_name;
  if (official.find('.') != std::string::npos) return official;
  for (char** alias = found->h_aliases; *alias != nullptr; ++alias) {
    if (std::string_view(*alias).find('.') != std::string_view::npos) return *alias;
  }
  return official;
}

}  // namespace hooke::real
