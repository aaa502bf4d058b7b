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

namespace hooke::world {

class SimNetwork;

/// Names a socket; a handle of a socket that is gone finds nothing.
struct SocketId {
  std::uint32_t slot = 0xffffffffU;
  std::uint32_t generation = 0;
};

/// What travels: bytes, then perhaps the end.
struct Segment {
  enum class End : unsigned char { none, finished, reset };
  sim::Buffer bytes;
  End end = End::none;
};

/// One end of a connection.
struct Socket {
  SocketId self;
  SocketId peer;
  SimProcess* owner = nullptr;
  Machine* machine = nullptr;
  Machine* peer_machine = nullptr;
  std::uint32_t peer_boots = 0;  ///< boot of the peer's machine that this connection belongs to
  Link* out = nullptr;
  ServiceState* service = nullptr;  ///< on the accepting side, when serving costs something
  sim::Endpoint local;
  sim::Endpoint remote;

  Fifo<Segment> arriving;         ///< on their way to this socket, in order
  Fifo<Segment> held;             ///< written here while the path out is blocked
  sim::WorldTime last_arrival{};  ///< keeps segments of one direction in order
  sim::Buffer received;
  bool finished = false;  ///< the peer has finished writing
  bool broken = false;    ///< reset
  bool end_told = false;  ///< the handler has had its on_end
  bool writing_done = false;
  bool in_use = false;
  std::uint16_t listening_port = 0;  ///< on the accepting side until it is accepted
  std::optional<sim::ParkTicket> reader;
  sim::StreamHandler* handler = nullptr;
};

/// A listening port.
struct ListenerState {
  SimProcess* owner = nullptr;
  Machine* machine = nullptr;
  std::uint16_t port = 0;
  bool ephemeral = false;
  sim::AcceptHandler* handler = nullptr;
  sim::WorldTime accept_free_at{};
  std::vector<SocketId> waiting;  ///< connected while the owner could not accept
};

/// Serial service of one port: one client write at a time.
struct ServiceState {
  SimNetwork* network = nullptr;
  ServiceModel model;
  sim::WorldTime free_at{};
  Fifo<std::pair<SocketId, Segment>> queue;
  bool armed = false;
  std::vector<LinkFault> faults;  ///< service_slow, service_stop, service_error, service_reply_lost
  // While a handler runs, what it writes is collected here and leaves when its time is over.
  bool collecting = false;
  std::vector<std::pair<SocketId, Segment>> answers;
};

class SimNetwork {
 public:
  SimNetwork(kernel::Kernel& kernel, const NetworkOptions& options, FaultLog& faults,
             std::vector<std::unique_ptr<Machine>>& machines);
  ~SimNetwork();

  // Called by processes through their port.
  sim::Outcome<std::unique_ptr<sim::Listener>> listen(SimProcess& owner, sim::PortNumber port,
                                                      sim::AcceptHandler& handler);
  sim::Outcome<std::unique_ptr<sim::Stream>> connect(SimProcess& owner, const sim::Endpoint& to,
                                                     std::optional<sim::MonotonicTime> deadline);
  sim::Outcome<Machine*> resolve(const Machine& asking, const std::string& host);
  static std::string address_of(sim::NodeId node);

  // Called by streams and listeners.
  Socket* find(SocketId id);
  sim::Outcome<sim::Done> write(Socket& socket, sim::Buffer bytes);
  void finish(Socket& socket);
  void reset(Socket& socket);
  /// Forgets a socket whose owner is done with it, telling the peer in an orderly way.
  void close(SocketId id);
  void set_handler(Socket& socket, sim::StreamHandler& handler);
  void close_listener(ListenerState& listener);

  // Called by the process table and the fault engine.
  void process_died(SimProcess& process);
  void process_resumed(SimProcess& process);
  void machine_crashed(Machine& machine);
  void path_changed();  ///< a path fault has ended: what was held goes on
  void reset_paths(const PathSet& paths, FaultId fault);
  ServiceState& service(Machine& machine, std::uint16_t port);
  void service_changed(ServiceState& service);
  void set_default_service(const ServiceModel& model) { default_service_ = model; }
  Links& links() { return links_; }

  std::map<std::string, sim::NodeId> aliases;
  struct Unresolvable {
    FaultId fault;
    std::string name;
    std::optional<sim::NodeId> asking;
  };
  std::vector<Unresolvable> unresolvable;

 private:
  struct Attempt;
  friend class SimStream;

  Socket& create(SimProcess& owner, Machine& machine, Machine& peer);
  void send(Socket& from, Segment segment, sim::WorldTime departure);
  void transmit(Socket& from, Segment segment, sim::WorldTime departure);
  void send_reset_to(Socket& socket, sim::Duration after);
  void write_to_nobody(Socket& socket);
  void release(Socket& socket);
  static void on_arrival(void* self, std::uint64_t socket);
  static void on_service(void* service, std::uint64_t);
  static void on_syn(void* attempt, std::uint64_t);
  static void on_syn_answer(void* attempt, std::uint64_t);
  static void on_handler_turn(void* self, std::uint64_t socket);
  static void on_accept_turn(void* self, std::uint64_t socket);
  static void on_reset(void* self, std::uint64_t socket);
  void arrive(Socket& socket, Segment segment);
  void deliver(Socket& socket, Segment segment);
  void serve(ServiceState& service, Socket& socket, Segment segment);
  void run_queue(ServiceState& service);
  void arm(ServiceState& service);
  void call_handler(Socket& socket);
  void launch_syn(Attempt& attempt);
  void break_connection(Socket& socket);
  sim::Duration path_delay(Link& link);

  kernel::Kernel& kernel_;
  const NetworkOptions& options_;
  FaultLog& faults_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  Links links_;
  ServiceModel default_service_;
  std::vector<std::unique_ptr<Socket>> sockets_;
  std::vector<std::uint32_t> free_sockets_;
  std::vector<std::unique_ptr<ListenerState>> listeners_;
  std::vector<Attempt*> blocked_attempts_;
  ServiceState* serving_ = nullptr;  ///< whose handler is running
};

}  // namespace hooke::world
