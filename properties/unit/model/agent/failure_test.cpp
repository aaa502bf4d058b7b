// What is known of a failed worker, and which of several is named as the cause.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/agent/kinds/workers_of_variant.h"
#include "model/worker/process_failure.h"
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

/// Describes a failure with that error file (none when nullopt), 90.7 s after the start of the
/// world.
std::string described(std::optional<std::string> contents, int exit_code = 3) {
  TestJob job;
  std::string result;
  job.world->register_program("reader", [&](Ports& ports) {
    world::sleep(ports, 90700ms);
    if (contents) static_cast<void>(ports.files.write("/error.json", *contents));
    ProcessFailure failure;
    failure.pid = sim::Pid{4242};
    failure.exit_code = exit_code;
    try {
      failure = describe_failure(ports, failure, "/error.json");
      result = failure.error_file + " " + std::to_string(failure.timestamp) + " " + failure.message;
    } catch (const std::runtime_error& error) {
      result = "raises";
    }
    return 0;
  });
  job.start_again(job[0].node, "reader");
  job.run();
  return result;
}

TEST(ProcessFailure, without_a_file_the_time_of_detection_counts_in_whole_seconds) {
  EXPECT_EQ(described(std::nullopt),
            "<N/A> 1800000090 To enable traceback see: "
            "https://pytorch.org/docs/stable/elastic/errors.html");
}

TEST(ProcessFailure, death_by_a_signal_is_named) {
  EXPECT_EQ(described(std::nullopt, -15),
            "<N/A> 1800000090 Signal 15 (SIGTERM) received by PID 4242");
  EXPECT_EQ(described(std::nullopt, -64),
            "<N/A> 1800000090 Signal 64 (<N/A>) received by PID 4242");
}

TEST(ProcessFailure, what_the_worker_wrote_counts_with_its_own_time) {
  EXPECT_EQ(described(R"({"message": {"message": "ValueError: x",
                          "extraInfo": {"py_callstack": "…", "timestamp": "1234"}}})"),
            "/error.json 1234 ValueError: x");
  EXPECT_EQ(described(R"({"message": "boom", "timestamp": 77})"), "/error.json 77 boom");
  EXPECT_EQ(described(R"({"message": "boom", "timestamp": " 77 "})"), "/error.json 77 boom");
  EXPECT_EQ(described(R"({"message": "boom", "timestamp": 77.9})"), "/error.json 77 boom");
  EXPECT_EQ(described(R"({"message": "boom"})"), "/error.json 0 boom");
}

/// The data of a failure with that error file and exit code.
std::string data_of(std::optional<std::string> contents, int exit_code, Variant variant) {
  TestJob job;
  std::string result;
  job.world->register_program("reader", [&](Ports& ports) {
    if (contents) static_cast<void>(ports.files.write("/error.json", *contents));
    ProcessFailure failure;
    failure.exit_code = exit_code;
    result = describe_failure(ports, failure, "/error.json", variant).error_data;
    return 0;
  });
  job.start_again(job[0].node, "reader");
  job.run();
  return result;
}

TEST(ProcessFailure, an_exit_code_without_a_word_is_said_to_be_the_systems_since_2_x) {
  const std::string traits =
      R"("errorTraits":{"category":"system_terminated_error","retryability":"False"}})";
  EXPECT_EQ(data_of(std::nullopt, 3, Variant::torch_2_x), R"({"message":"<NONE>",)" + traits);
  EXPECT_EQ(data_of(R"({"message": "", "timestamp": 7})", 3, Variant::hardened),
            R"({"message":"","timestamp":7,)" + traits);
  EXPECT_EQ(data_of(std::nullopt, 3, Variant::torch_1_13), R"({"message": "<NONE>"})");
  EXPECT_EQ(data_of(std::nullopt, -9, Variant::torch_2_x), R"({"message": "<NONE>"})");
  EXPECT_EQ(data_of(R"({"message": "boom"})", 3, Variant::torch_2_x), R"({"message": "boom"})");
}

TEST(ProcessFailure, an_empty_message_is_replaced) {
  EXPECT_EQ(described(R"({"message": "", "timestamp": 77})", -9),
            "/error.json 77 Signal 9 (SIGKILL) received by PID 4242");
}

TEST(ProcessFailure, a_file_that_is_not_what_a_worker_writes_is_an_error) {  // A-15
  for (const char* const contents :
       {"", "{", "[]", "null", "17", "{}", R"({"msg": "x"})", R"({"message": 5})",
        R"({"message": null})", R"({"message": {}})", R"({"message": {"extraInfo": {}}})",
        R"({"message": {"extraInfo": {"timestamp": "soon"}}})",
        R"({"message": "x", "timestamp": "12abc"})", R"({"message": "x", "timestamp": "1.5"})",
        R"({"message": "x", "timestamp": ""})", R"({"message": "x", "timestamp": " "})",
        R"({"message": "x", "timestamp": null})", "{\"message\": \"\xff\"}",
        R"({"message": "x", "timestamp": "99999999999999999999"})",
        // No calendar has them, and none may become the earliest of all failures.
        R"({"message": "x", "timestamp": 1e300})",
        R"({"message": "x", "timestamp": 18446744073709551615})",
        R"({"message": "x", "timestamp": 253402300800})",
        R"({"message": "x", "timestamp": "-62135596801"})"}) {
    EXPECT_EQ(described(contents), "raises") << contents;
  }
}

TEST(ProcessFailure, has_a_time_of_any_year_that_python_knows) {
  EXPECT_EQ(described(R"({"message": "x", "timestamp": 253402300799.9})"),
            "/error.json 253402300799 x");
  EXPECT_EQ(described(R"({"message": "x", "timestamp": "-62135596800"})"),
            "/error.json -62135596800 x");
}

TEST(ProcessFailure, an_object_as_deep_as_the_file_is_long_is_read_all_the_same) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(described(R"({"message": {"extraInfo": {"timestamp": 5}, "message": )" + deep +
                      std::string(deep.size(), ']') + "}}"),
            "/error.json 5 <N/A>");
}

RC_GTEST_PROP(ProcessFailure, a_cut_file_is_an_error_wherever_it_is_cut, ()) {
  const std::string whole =
      R"({"message": {"message": "E: x", "extraInfo": {"timestamp": "1234"}}})";
  const auto length = *rc::gen::inRange<std::size_t>(0, whole.size());
  RC_ASSERT(described(whole.substr(0, length)) == "raises");
}

// ---- the first cause

std::int64_t cause_of(std::vector<std::pair<std::int64_t, std::int64_t>> ranks_and_times) {
  ProcessFailures failures;
  for (const auto& [rank, time] : ranks_and_times) {
    ProcessFailure failure;
    failure.rank = rank;
    failure.timestamp = time;
    failures.push_back(failure);
  }
  return first_failure(failures).rank;
}

TEST(FirstCause, is_the_smallest_time_and_among_equals_the_first_detected) {
  EXPECT_EQ(cause_of({{3, 10}}), 3);
  EXPECT_EQ(cause_of({{3, 10}, {1, 9}, {2, 11}}), 1);
  EXPECT_EQ(cause_of({{3, 10}, {0, 10}, {1, 10}}), 3);
}

TEST(FirstCause, a_sibling_that_the_agent_stopped_in_the_same_second_is_not_blamed) {
  TestJob job;
  job[0].config.nproc_per_node = 4;
  job.worker = [](Ports& ports) {
    world::sleep(ports, number_of(ports, "LOCAL_RANK") == 2 ? 1s : 60s);
    return 3;
  };
  job.start_and_run();
  EXPECT_EQ(job.texts("failure.reported", "rank"), (Texts{"2"}));
  EXPECT_EQ(job.texts("failure.reported", "status"), (Texts{"3"}));
}

TEST(FirstCause, a_consequence_with_a_file_beats_a_cause_without_one) {  // A-16
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].config.monitor_interval = 5s;
  job.worker = [](Ports& ports) {
    if (number_of(ports, "LOCAL_RANK") == 0) {
      world::sleep(ports, 1s);
      return 7;  // the cause: noticed at 5 s
    }
    world::sleep(ports, 2s);
    const auto now = std::chrono::floor<std::chrono::seconds>(ports.clock.wall_now());
    static_cast<void>(ports.files.write(ports.processes.environment().at("TORCHELASTIC_ERROR_FILE"),
                                        "{\"message\": \"peer is gone\", \"timestamp\": " +
                                            std::to_string(now.time_since_epoch().count()) + "}"));
    return 1;
  };
  job.start_and_run();
  EXPECT_EQ(job.texts("failure.reported", "rank"), (Texts{"1"}));
  EXPECT_EQ(job.ending(), "failed 1 ChildFailedError: rank 1: peer is gone");
}

TEST(FirstCause, is_never_one_that_a_hardened_agent_has_stopped) {  // A-16
  ProcessFailures failures(2);
  failures[0].rank = 0;
  failures[0].timestamp = 10;
  failures[1].rank = 1;
  failures[1].timestamp = 9;
  failures[1].stopped = true;
  EXPECT_EQ(first_failure(failures).rank, 1);
  EXPECT_EQ(root_failure(failures, Variant::hardened).rank, 0);
}

TEST(FirstCause, an_unreadable_error_file_counts_as_none_under_a_hardened_agent) {  // A-15
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.max_restarts = 2;
  job.worker = [](Ports& ports) {
    static_cast<void>(
        ports.files.write(ports.processes.environment().at("TORCHELASTIC_ERROR_FILE"), "{\"mess"));
    return 3;
  };
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.joins, 3);
  EXPECT_EQ(job.ending().substr(0, 35), "failed 1 ChildFailedError: rank 0: ");
}

TEST(FirstCause, an_unreadable_error_file_ends_the_agent_although_restarts_are_left) {  // A-15
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].config.max_restarts = 3;
  job.worker = [](Ports& ports) {
    if (number_of(ports, "LOCAL_RANK") == 1) world::park_for_ever(ports);
    static_cast<void>(
        ports.files.write(ports.processes.environment().at("TORCHELASTIC_ERROR_FILE"), "{\"mess"));
    return 1;
  };
  job.start_and_run();
  EXPECT_EQ(job.ending().substr(0, 32), "error 1 RuntimeError: error file");
  EXPECT_EQ(job[0].rendezvous.joins, 1);
  EXPECT_EQ(job.texts("worker.ended", "status"), (Texts{"1", "-15"}));
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
}

/// The store comes up empty between the two.
std::string failure_told_when_closing_anew(int status) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.max_restarts = 0;
  FakeRendezvous& rendezvous = job[0].rendezvous;
  rendezvous.job_store = std::make_shared<MemoryStoreData>();
  rendezvous.shutdown = [&](Ports&) {
    EXPECT_EQ(rendezvous.job_store->text("failed/1"), status == 0 ? "<none>" : "1");
    rendezvous.job_store->values.clear();
    rendezvous.closing_anew();
    return true;
  };
  job.worker = exits(1s, status);
  job.start_and_run();
  EXPECT_EQ(rendezvous.shutdowns, 1);
  return rendezvous.job_store->text("failed/1");
}

TEST(JobFailure, that_ends_the_job_is_told_again_where_the_rendezvous_is_closed_anew) {
  EXPECT_EQ(failure_told_when_closing_anew(7), "1");
  EXPECT_EQ(failure_told_when_closing_anew(0), "<none>") << "a job that is done";
}

/// When the failure of a worker at 10 s is told, whose store is silent for that long from 5 s on, to
/// agents that take no silent member for dead.
std::optional<sim::Duration> told_to_a_store_that_is_silent_for(sim::Duration span) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.max_restarts = 0;
  const auto store = std::make_shared<MemoryStoreData>();
  job[0].rendezvous.job_store = store;
  job.at(5s, [&] { store->lose(); });
  job.at(5s + span, [&] { store->lost = false; });
  std::optional<sim::Duration> told;
  for (int second = 0; second < 1000; ++second) {
    job.at(second * 1s, [&] {
      if (!told && store->values.contains("failed/1")) told = job.now();
    });
  }
  job.worker = exits(10s, 7);
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.lingers, 1);
  EXPECT_EQ(job.ending().substr(0, 8), "failed 1");
  return told;
}

TEST(JobFailure, is_told_by_an_agent_that_lingers_when_its_store_answers_again) {  // A-17
  for (const sim::Duration silence : {30s, 300s}) {
    const auto told = told_to_a_store_that_is_silent_for(silence);
    ASSERT_TRUE(told.has_value()) << silence.count();
    EXPECT_GE(*told, 5s + silence);
    EXPECT_LE(*told, 8s + silence);
  }
}

/// How an agent ends that comes to a job of one round (static), which has failed before or has not.
std::string ending_in_a_static_job(bool has_failed) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].rendezvous.job_store = std::make_shared<MemoryStoreData>();
  if (has_failed) job[0].rendezvous.job_store->values["failed/-1"] = Value("1");
  job[0].rendezvous.join = [&job](Ports& ports, std::int64_t call) {
    RendezvousInfo info = job.round_of(ports, call + 1);
    info.round = -1;
    return info;
  };
  job.start_and_run();
  EXPECT_EQ(job.environments.size(), has_failed ? 0U : 1U) << "workers";
  return job.ending();
}

TEST(JobFailure, is_heard_by_an_agent_that_comes_back_before_it_starts_workers) {  // A-17
  EXPECT_EQ(ending_in_a_static_job(true),
            "error 1 RendezvousClosedError: the job has failed on another node");
  EXPECT_EQ(ending_in_a_static_job(false), "succeeded 0 ");
}

}  // namespace
}  // namespace hooke::model
