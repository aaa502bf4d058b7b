#pragma once
// The picture of a run that its invariants share, followed from the trace alone: which processes
// live, which of them are agents and workers, in which job, round and stage each agent is, and with
// which settings. One copy per run, whatever the number of invariants.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/invariants/ledger.h"
#include "sim/port/trace.h"

namespace hooke::properties {

/// One process: a node and a number.
struct ProcessKey {
  sim::NodeId node{};
  sim::Pid pid{};
  friend auto operator<=>(const ProcessKey&, const ProcessKey&) = default;
};
/// The process that a field of an event names.
inline sim::Pid pid(const sim::Event& event, std::string_view field) {
  return sim::Pid{static_cast<std::int32_t>(event.field(field).number())};
}
/// Dense number of an agent process in order of `agent.started`; never reused.
using AgentId = sim::Id<struct AgentTag, std::uint32_t>;
inline constexpr AgentId kNoAgent{0xffffffffU};
/// Dense number of a job (a run id).
using JobId = sim::Id<struct JobTag, std::uint32_t>;
inline constexpr JobId kNoJob{0xffffffffU};

/// Round of an agent that has never joined one. The static backend has the one round -1.
inline constexpr std::int64_t kNoRound = std::numeric_limits<std::int64_t>::min();

/// Workers that are stopped for a restart get this, whatever was configured, unless that is more
/// (PyTorch: agent/server/local_elastic_agent.py, _stop_workers; multiprocessing/api.py, close).
inline constexpr sim::Duration kStopGrace = std::chrono::seconds(30);

/// The spans an agent was configured with; of a job: the longest of its agents.
struct Timeouts {
  sim::Duration join{}, last_call{}, close{}, heartbeat{}, keep_alive{}, read_timeout{}, monitor{};
  sim::Duration exit_barrier{}, shutdown{};
  sim::Duration stop{};  ///< grace of workers that are stopped for a restart; zero: not known
  sim::Duration
      parting{};  ///< for which the others are waited for before the closing, with questions
  sim::Duration pause{};  ///< the longest between a failure and what follows
  /// Between the first word to a worker that is to stop and SIGKILL.
  [[nodiscard]] sim::Duration shortest_grace() const;
  [[nodiscard]] sim::Duration longest_grace() const;
  /// Each span becomes the longer of the two.
  void widen(const Timeouts& other);
};

/// How long an agent pauses between the end of its failed workers and what follows.
struct Pauses {
  sim::Duration first{};
  std::int64_t factor = 1;
  sim::Duration longest{};
  /// After so many restarts.
  [[nodiscard]] sim::Duration after(std::int64_t restarts) const;
};

/// What a world knows of the agents that it starts, whatever these say.
struct Given {
  /// For the others at work before a closing: without an end.
  static constexpr sim::Duration kForEver = sim::Duration::max();

  Timeouts spans;
  bool workers_meet_first = false;  ///< before they do anything else that may fail, all of the job
  std::optional<Pauses> pauses{};   ///< nullopt: a project's own policy says
  bool alone = false;               ///< failed workers are started anew without the others
  std::optional<std::int64_t> attempts{};  ///< of one worker, after which none is started anew
  sim::Duration waits{};  ///< for others at work before it closes the rendezvous: at most so long
};

/// Where an agent is in its life.
enum class Stage : unsigned char {
  starting,    ///< connecting, not yet in next_rendezvous
  joining,     ///< inside next_rendezvous
  joined,      ///< has a rank, workers not yet running
  running,     ///< its workers are healthy
  restarting,  ///< stops its workers in order to join again
  stopping,    ///< its workers are over or being stopped for good
  barrier,     ///< waits in the exit barrier
  finished,    ///< has said how it ended
};

struct Agent {
  sim::NodeId node{};
  sim::Pid pid{};
  JobId job{};
  sim::WorldTime started{};
  std::int64_t min_nodes = 0, max_nodes = 0, local_world_size = 0, max_restarts = 0;
  Timeouts timeouts;

  Stage stage = Stage::starting;
  sim::WorldTime stage_since{};
  std::int64_t round = kNoRound;  ///< the latest one joined
  std::int64_t rank = -1;
  std::int64_t world_size = 0;   ///< agents of that round, as this agent believes
  bool member = false;           ///< of `round`: has not left it, lost it or begun to leave
  bool spare = false;            ///< parked in the redundancy list
  bool failed_for_good = false;  ///< its workers failed and nothing is left to restart
  std::optional<sim::WorldTime> barrier_left;
  /// The place of a store beside its job's that it came to ask, for a name led it there.
  std::optional<std::size_t> led_to;
  bool all_came = false;  ///< everybody of its round to the exit barrier in which it waited
  std::optional<sim::WorldTime> signalled;  ///< first signal to end, other than SIGKILL
  std::set<std::int64_t> signals;           ///< the numbers of all that it got
  std::string outcome;                      ///< of agent.finished; empty before
  std::optional<sim::WorldTime> ended;      ///< its process is gone
  /// How many errors faults have put into its code since it last began anything but its end. The
  /// first may end it, whatever it does meanwhile for others; a second one cuts that end short.
  std::int64_t errors = 0;

  [[nodiscard]] bool alive() const { return !ended; }
  /// Alive, not told to end, and with work before it: this agent still needs its job.
  [[nodiscard]] bool at_work() const {
    return !ended && !signalled && stage != Stage::finished && stage != Stage::stopping &&
           stage != Stage::barrier;
  }
};

/// One process, the youngest under its number on its node. Ended ones are kept until the next one
/// starts there.
struct Process {
  sim::Pid pid{};
  sim::EventId born{};  ///< its process.started
  sim::WorldTime started{};
  AgentId agent = kNoAgent;  ///< set: it is this agent
  AgentId owner = kNoAgent;  ///< set: it descends from this agent
  bool worker = false;       ///< announced by worker.started
  std::int64_t round = kNoRound, rank = -1, local_rank = -1, world_size = 0;
  std::optional<sim::WorldTime> told_to_stop;  ///< first signal from its own agent
  bool hit_from_outside = false;               ///< got a signal from somebody else
  std::optional<sim::WorldTime> ended;
  std::int64_t status = 0;  ///< Python's convention
};

/// A job's round, from the first sign of it.
struct Round {
  std::optional<sim::WorldTime> completed;
  std::int64_t participants = 0;      ///< as its completion says
  std::vector<AgentId> members;       ///< those that returned from next_rendezvous with it
  std::int64_t current_members = 0;   ///< of those, members still
  std::int64_t leaving_members = 0;   ///< of these, those that stop their workers for good
  std::set<std::int64_t> in_barrier;  ///< ranks of the agents that entered its exit barrier
  std::set<AgentId> earlier;          ///< members when the store forgot the round
  std::set<AgentId> replaced;  ///< of those: another group has the round there, and they none
  AgentId first = kNoAgent;    ///< the member with rank 0
};

/// A process that serves, or has served, a rendezvous store.
struct Service {
  ProcessKey process;
  AgentId agent = kNoAgent;  ///< that process
  JobId job = kNoJob;        ///< of that agent
  std::int64_t port = 0;
  sim::WorldTime since{}, to{};
  sim::EventId began{}, ended{};  ///< kNoEvent: it has not
  bool current = true;            ///< it serves still, and nothing else instead
  bool is_first = true;           ///< no agent of the job had served a store before
  bool led_astray = false;        ///< by a name, to serve beside the store that it should have used
};

struct Job {
  std::string run_id;
  std::string backend;  ///< of its latest agent
  Timeouts timeouts;
  std::int64_t max_restarts = 0;  ///< the largest of its agents
  std::int64_t min_nodes = 0;     ///< of its latest agent
  std::vector<AgentId> agents;
  std::map<std::int64_t, Round> rounds;
  std::map<std::int64_t, AgentId> static_ranks;  ///< of a static job: which had each last
  std::int64_t highest_completed = kNoRound;
  std::int64_t living = 0;             ///< agents whose process has not ended
  std::int64_t joining = 0;            ///< agents inside next_rendezvous, spares among them
  std::int64_t seated = 0;             ///< living agents that are members of a round
  std::optional<sim::WorldTime> over;  ///< the job's outcome is decided
  std::string over_by;                 ///< why, for a witness
  struct Decided {
    std::int64_t round = 0;
    sim::WorldTime at{};
  };
  std::optional<Decided> decided;  ///< the latest time, also when others went on
};

class JobView {
 public:
  /// The event types it follows.
  static std::span<const sim::EventType* const> interests();
  /// An agent that names machines, as faults do, calls this one so: agents of a static rendezvous
  /// never introduce themselves.
  void call(sim::NodeId node, std::string_view name);
  /// What the world starts the agents of a machine with, before the first event. Where it does not tell
  /// (real and recorded runs), what they say is all that is known.
  void give(sim::NodeId node, std::shared_ptr<const Given> given);
  /// Null: not known.
  [[nodiscard]] const Given* given(sim::NodeId node) const;
  /// Takes an event in; showing it again changes nothing.
  void see(const sim::Event& event);

  [[nodiscard]] const Agent& agent(AgentId id) const { return agents_[id.value]; }
  [[nodiscard]] std::size_t agent_count() const { return agents_.size(); }
  [[nodiscard]] const Job& job(JobId id) const { return jobs_[id.value]; }
  [[nodiscard]] std::size_t job_count() const { return jobs_.size(); }
  /// kNoJob when no agent has named this run id yet.
  [[nodiscard]] JobId find_job(std::string_view run_id) const;
  /// nullptr when the job has no such round.
  [[nodiscard]] const Round* round(JobId job, std::int64_t number) const;

  /// The agent that emitted `event`, or whose process it is about; kNoAgent when it is none.
  [[nodiscard]] AgentId agent_of(const sim::Event& event) const {
    return agent_at(event.node, event.pid);
  }
  [[nodiscard]] AgentId agent_at(sim::NodeId node, sim::Pid pid) const;
  /// nullptr for an unknown process. Valid until the next see().
  [[nodiscard]] const Process* process(sim::NodeId node, sim::Pid pid) const;
  [[nodiscard]] const std::vector<Process>& processes(sim::NodeId node) const;

  /// Name of a node as its agents introduce themselves or it was called, else its number.
  [[nodiscard]] std::string name(sim::NodeId node) const;
  /// "the agent on node b (pid 100)".
  [[nodiscard]] std::string describe(AgentId agent) const;
  /// The node that introduces itself, or is called, so; nullopt when none is.
  [[nodiscard]] std::optional<sim::NodeId> node_called(std::string_view address) const;

  /// The agent that introduces itself as "addr_pid_localid"; kNoAgent when none does, or none does
  /// any more.
  [[nodiscard]] AgentId agent_described(std::string_view descriptor) const;
  /// The member of a version of the legacy rendezvous to which the key at this path belongs;
  /// kNoAgent when none has it.
  [[nodiscard]] AgentId member_at(JobId job, std::int64_t version,
                                  std::string_view keep_alive) const;

  /// What faults have taken from which agents.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  /// As the ledger asks for it; for kNoAgent one that only faults of everyone reach.
  [[nodiscard]] Claimant claimant(AgentId id) const;
  /// A rendezvous store has served, and none does any more.
  [[nodiscard]] bool store_is_gone() const { return !services_.empty() && stores_.empty(); }
  /// All that have served a rendezvous store, in the order in which they began.
  [[nodiscard]] const std::vector<Service>& services() const { return services_; }
  /// The latest that an agent of the job served; null: none did.
  [[nodiscard]] const Service* latest_service(JobId job) const;
  /// A name has led the agent to serve beside the store that it should have used.
  [[nodiscard]] bool serves_apart(AgentId id) const;
  /// The store that a name has led the agent to serve or to ask beside the one that it should have
  /// used, while both serve: it meets the others there, though names may be right again. Null: none.
  [[nodiscard]] const Service* store_apart(AgentId id) const;
  /// The one that ended at `event`; null: none did.
  [[nodiscard]] const Service* service_ended_at(const sim::Event& event) const;
  /// Some agent of any job lives, other than `but`.
  [[nodiscard]] bool others_live(AgentId but) const;
  /// `holds(process)` of a worker, living or not, that the agent started.
  template <class Holds>
  [[nodiscard]] bool any_worker(AgentId owner, Holds holds) const {
    const auto& all = processes(agents_[owner.value].node);
    return std::ranges::any_of(all, [&](const Process& process) {
      return process.worker && process.owner == owner && holds(process);
    });
  }
  /// `holds(id, agent)` of an agent of the job.
  template <class Holds>
  [[nodiscard]] bool any_agent(JobId job, Holds holds) const {
    const auto& ids = jobs_[job.value].agents;
    return std::ranges::any_of(ids, [&](AgentId id) { return holds(id, agents_[id.value]); });
  }

 private:
  struct Machine {
    std::string name;
    std::shared_ptr<const Given> given;
    std::vector<Process> processes;
    AgentId latest_agent = kNoAgent;
  };

  void on_world_event(const sim::Event& event);
  void on_fault(const sim::Event& event);
  void on_fault_felt(const sim::Event& event);
  void begin_anew(AgentId server);
  const std::set<AgentId>& forget(Round& round, std::int64_t number);
  void forget_leases();
  void stop_leases(sim::WorldTime at);
  void on_store_serving(const sim::Event& event);
  void on_store_gone(const sim::Event& event, bool killed);
  void perhaps_led_astray(Agent& agent, AgentId id, sim::WorldTime at);
  [[nodiscard]] const Service* store_beside(const Service& service) const;
  void on_process_started(const sim::Event& event);
  void on_process_ended(const sim::Event& event);
  void on_process_signalled(const sim::Event& event);
  void on_agent_started(const sim::Event& event);
  void on_agent_event(const sim::Event& event, Agent& agent, AgentId id);
  void on_rendezvous_event(const sim::Event& event, Agent& agent, AgentId id);
  void on_joined(const sim::Event& event, Agent& agent, AgentId id);
  void on_worker_started(const sim::Event& event, Agent& agent, AgentId id);
  void on_worker_ended(const sim::Event& event);
  void on_barrier_entered(const sim::Event& event, Agent& agent);
  void on_settings(const sim::Event& event, Agent& agent);
  void enter(Agent& agent, Stage stage, sim::WorldTime at);
  void end_agent(Agent& agent, sim::WorldTime at);
  void seat(Agent& agent, bool member);
  void count_leaving(const Agent& agent, std::int64_t step);
  void decide(const Agent& agent, sim::WorldTime at, std::string why);
  void decide(Job& job, sim::WorldTime at, std::int64_t round, std::string why);
  Machine& machine(sim::NodeId node);
  Process& process_slot(sim::NodeId node, sim::Pid pid, const sim::Event& event);
  Process* find_process(sim::NodeId node, sim::Pid pid);
  JobId job_named(std::string_view run_id);

  std::map<ProcessKey, std::size_t> stores_;  ///< which serve now: their places in services_
  std::vector<Service> services_;
  sim::EventId seen_{};
  std::vector<Agent> agents_;
  std::vector<Job> jobs_;
  std::vector<Machine> machines_;  ///< by node
  std::map<std::string, sim::NodeId, std::less<>> nodes_by_name_;
  std::map<std::string, AgentId, std::less<>> described_;  ///< by the descriptor it joins with
  Ledger ledger_;
};

/// An address without the simulated world's domain: "a.sim" and "a" are one machine.
std::string_view without_domain(std::string_view address);
/// The host part of "host:port".
std::string_view host_of(std::string_view endpoint);

}  // namespace hooke::properties
