#pragma once
// TCP between machines: connections as pairs of sockets, segments in order, serial servers.
// Internal to the world; processes reach it through their Network port.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/fault_log.h"
#include "sim/world/fifo.h"
#include "sim/world/links.h"
#include "sim/world/machine.h"
#include "sim/world/request_order.h"
#include "sim/world/slab.h"

namespace hooke::world {

class SimNetwork;

/// Names a socket; a handle of a socket that is gone finds nothing.
struct SocketId {
  std::uint32_t slot = 0xffffffffU;
  std::uint32_t generation = 0;
  friend bool operator==(const SocketId&, const SocketId&) = default;
  /// As the number that a timer carries, and back.
  [[nodiscard]] std::uint64_t packed() const { return slot | (std::uint64_t{generation} << 32U); }
  static SocketId unpacked(std::uint64_t packed) {
    return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32U)};
  }
};

/// What travels: bytes, then perhaps the end.
struct Segment {
  enum class End : unsigned char { none, finished, reset };
  sim::Buffer bytes;
  End end = End::none;
};
inline bool carries_data(const Segment& segment) {
  return !segment.bytes.empty();
}

/// A listening port or socket file, owned by the listener's handle.
struct ListenerState {
  SimProcess* owner = nullptr;
  Machine* machine = nullptr;
  Door door;
  bool ephemeral = false;
  sim::AcceptHandler* handler = nullptr;  ///< null: closed
  sim::WorldTime accept_free_at{};
  std::size_t unaccepted = 0;     ///< connections that have not been handed to the handler
  std::vector<SocketId> waiting;  ///< those whose turn came while the owner could not act
};

/// A request that waits until a few of others have been served, or what follows one on its
/// connection.
struct HeldRequest {
  SocketId from;
  Segment segment;
  std::uint64_t behind = 0;  ///< how many requests of others come first
  const Machine* client = nullptr;
};

/// Serial service of one port: one client write at a time. What a handler writes while it serves is
/// collected and leaves when the time of the request is over.
struct ServiceState {
  SimNetwork* network = nullptr;
  ServiceModel model;
  bool own_model = false;                     ///< not the default one
  std::optional<kernel::TimerId> busy_until;  ///< end of the request being served
  sim::WorldTime served_at{};                 ///< when that is
  Fifo<std::pair<SocketId, Segment>> queue;
  std::vector<std::pair<SocketId, Segment>> answers;
  std::vector<LinkFault> faults;  ///< service_slow, service_stop, service_error, service_reply_lost
  std::vector<HeldRequest> held;  ///< in the order of their arrival

  [[nodiscard]] sim::Duration busy_for(sim::WorldTime now) const {
    return busy_until ? served_at - now : sim::Duration::zero();
  }
};

/// One end of a connection. In order of use: a message touches the first three cache lines.
struct alignas(64) Socket {
  SocketId self;
  SocketId peer;
  std::uint32_t unserved = 0;  ///< segments in the queue of the service
  std::uint32_t unsent = 0;    ///< segments among the answers of the service
  bool in_use = false;
  bool lingering = false;     ///< closed by its owner, stays until everything written has left
  bool broken = false;        ///< reset
  bool finished = false;      ///< the peer has finished writing
  bool writing_done = false;  ///< this side has finished writing
  bool end_told = false;      ///< the handler has had its on_end
  bool unanswered = false;    ///< has sent to a machine that is down, and keeps trying
  bool from_within = false;   ///< see Door; on the accepting side
  Machine* machine = nullptr;
  Link* out = nullptr;
  ServiceState* service = nullptr;  ///< on the accepting side
  sim::StreamHandler* handler = nullptr;

  Fifo<Segment> arriving;         ///< on their way to this socket, in order
  sim::WorldTime last_arrival{};  ///< keeps segments of one direction in order
  std::optional<sim::ParkTicket> reader;

  sim::Buffer received;
  SimProcess* owner = nullptr;
  std::size_t index_in_owner = 0;

  Machine* peer_machine = nullptr;
  std::uint32_t peer_boots = 0;  ///< boot of the peer's machine that this connection belongs to
  ListenerState* listener = nullptr;  ///< on the accepting side until it is accepted
  Fifo<Segment> held;                 ///< written while the path out is blocked; empty otherwise
  sim::Endpoint local;
  sim::Endpoint remote;
};

class SimNetwork {
 public:
  SimNetwork(kernel::Kernel& kernel, const NetworkOptions& options, FaultLog& faults,
             std::vector<std::unique_ptr<Machine>>& machines);
  ~SimNetwork();

  // Called by processes through their port.
  sim::Outcome<std::unique_ptr<sim::Listener>> listen(SimProcess& owner, Door door,
                                                      sim::AcceptHandler& handler);
  /// `where`: what a failure calls it.
  sim::Outcome<std::unique_ptr<sim::Stream>> connect(SimProcess& owner, Machine& to, Door door,
                                                     const std::string& where,
                                                     std::optional<sim::MonotonicTime> deadline);
  sim::Outcome<Machine*> resolve(const Machine& asking, const std::string& host);
  static std::string address_of(sim::NodeId node);
  static bool is_loopback(const std::string& host);

  // Called by streams and listeners.
  Socket* find(SocketId id) {
    if (id.slot >= sockets_.size()) return nullptr;
    Socket& socket = sockets_[id.slot];
    return socket.in_use && socket.self.generation == id.generation ? &socket : nullptr;
  }
  /// The socket as its owner knows it: null once it is closed.
  Socket* open_socket(SocketId id);
  sim::Outcome<sim::Done> write(Socket& socket, sim::Buffer bytes);
  void finish(Socket& socket);
  void reset(Socket& socket);
  /// The owner is done with the socket; the peer is told as an operating system would.
  void close(SocketId id);
  void set_handler(Socket& socket, sim::StreamHandler& handler);
  void close_listener(ListenerState& listener);

  // Called by the process table, the fault engine and the world.
  void add_machine(Machine& machine) { names_[machine.name] = &machine; }
  [[nodiscard]] Machine* find_machine(std::string_view name) const;
  /// The machine that `host` means without an alias: its name, with or without ".sim", or its
  /// address; null: none.
  [[nodiscard]] Machine* machine_named(const std::string& host) const;
  void process_died(SimProcess& process);
  void process_resumed(SimProcess& process);
  /// Its sockets are gone without a word; machine.up is false already.
  void machine_crashed(Machine& machine);
  void machine_restarted(Machine& machine);
  void path_changed();  ///< a path fault has ended: what was held goes on
  void reset_paths(const PathSet& paths, FaultId fault);
  ServiceState& service(Machine& machine, std::uint32_t door);
  void service_changed(ServiceState& service) { run(service); }
  void set_service(Machine& machine, std::uint32_t door, const ServiceModel& model);
  void set_default_service(const ServiceModel& model);
  Links& links() { return links_; }
  /// The world ends: nothing is sent, delivered or reported any more.
  void shut_down();

  struct Alias {
    FaultId fault;
    std::string name;
    Machine* machine;
  };
  std::vector<Alias> aliases;  ///< the latest of a name counts
  struct Unresolvable {
    FaultId fault;
    std::string name;
    std::optional<sim::NodeId> asking;
  };
  std::vector<Unresolvable> unresolvable;

 private:
  struct Attempt;

  // sockets (socket_life.cpp)
  Socket& create(SimProcess& owner, Machine& machine, Machine& peer);
  void release(Socket& socket);
  void detach(Socket& socket);
  void leave_lingering(Socket& socket);

  // sending, receiving (sim_network.cpp)
  void leave(Socket& from, Segment&& segment);
  void send(Socket& from, Segment&& segment);
  void transmit(Socket& from, Segment&& segment);
  void send_to_nobody(Socket& from, const Segment& segment);
  void wait_in_silence(Socket& socket);
  void send_reset_to(Socket& socket, sim::Duration after);
  void refuse_data(Socket& socket, sim::Duration after);
  sim::Duration path_delay(Link& link);

  static void on_arrival(void* self, std::uint64_t socket);
  static void on_handler_turn(void* self, std::uint64_t socket);
  static void on_reset(void* self, std::uint64_t socket);
  void arrive(Socket& socket, Segment&& segment);
  void deliver(Socket& socket, Segment&& segment);
  void call_handler(Socket& socket);
  void break_connection(Socket& socket);

  // connecting (network_connect.cpp)
  static void on_syn(void* attempt, std::uint64_t);
  static void on_syn_answer(void* attempt, std::uint64_t);
  static void on_accept_turn(void* self, std::uint64_t socket);
  void launch_syn(Attempt& attempt);
  void meet_listener(Attempt& attempt, ListenerState& listener);
  void relaunch_attempts();

  // serial service (serial_service.cpp)
  static void on_served(void* service, std::uint64_t);
  void run(ServiceState& service);
  void serve(ServiceState& service, Socket& socket, Segment&& segment);
  void lose_reply(ServiceState& service, SocketId to);
  void forget_answers(Socket& socket);
  void release_answers(ServiceState& service);

  // the order of requests (request_order.cpp)
  bool hold(ServiceState& service, Socket& socket, Segment& segment);
  void let_others_go(ServiceState& service, const Machine* client);
  void release_held(ServiceState& service);
  static void on_held_long(void* self, std::uint64_t socket);

  kernel::Kernel& kernel_;
  const NetworkOptions& options_;
  FaultLog& faults_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  std::map<std::string, Machine*, std::less<>> names_;
  Links links_;
  ServiceModel default_service_;
  Slab<Socket> sockets_;
  std::vector<std::uint32_t> free_sockets_;
  std::map<std::uint64_t, Attempt*> blocked_attempts_;  ///< by number, so in order of beginning
  std::uint64_t attempts_ = 0;
  ServiceState* serving_ = nullptr;  ///< whose handler is running
};

}  // namespace hooke::world
