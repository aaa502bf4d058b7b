// The file store: its bytes, its waits, and a file that somebody has spoilt.
#include "model/store/file_store.h"

#include <gtest/gtest.h>

#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using world::in;
using world::sleep;

/// What opening a new store writes.
const std::string kOneUser(
    "\x9\0\0\0refcount/\1\0\0\0"
    "1",
    18);

class FileStore : public testing::Test {
 protected:
  void run(const std::function<void(sim::Ports&)>& body) {
    bool done = false;
    world_.start(world_.node("n"), "test", [&](sim::Ports& ports) {
      body(ports);
      done = true;
      return 0;
    });
    world_.run_for(std::chrono::hours(1));
    EXPECT_TRUE(done);
  }
  world::TestWorld world_;
};

TEST_F(FileStore, writes_pytorchs_records) {
  run([](sim::Ports& ports) {
    const auto store = open_file_store(ports, "/f");
    store->set("k", Value("v"));
    EXPECT_TRUE(store->delete_key("k"));
    EXPECT_EQ(ports.files.read("/f").value(),
              kOneUser + std::string("\2\0\0\0/k\1\0\0\0v\3\0\0\0-/k\0\0\0\0", 22));
    EXPECT_FALSE(store->check({"k"}));
  });
}

TEST_F(FileStore, is_one_store_for_all_clients_that_open_it) {
  run([](sim::Ports& ports) {
    const auto one = open_file_store(ports, "/f"), other = open_file_store(ports, "/f");
    one->set("a", Value("1"));
    EXPECT_EQ(other->get("a").bytes(), "1");
    EXPECT_EQ(one->add("n", 5), 5);
    EXPECT_EQ(other->add("n", -7), -2);
    EXPECT_EQ(one->get("n").bytes(), "-2");
    other->set("a", Value("12abc"));
    EXPECT_EQ(one->add("a", 1), 13);
    other->set("a", Value("abc"));
    EXPECT_THROW(one->add("a", 1), StoreError);
    EXPECT_EQ(one->compare_set("c", Value("x"), Value("y")).bytes(), "x");
    EXPECT_FALSE(other->check({"c"}));
    EXPECT_EQ(one->compare_set("c", Value(), Value("y")).bytes(), "y");
    EXPECT_EQ(other->compare_set("c", Value("y"), Value("z")).bytes(), "z");
    EXPECT_EQ(one->compare_set("c", Value("y"), Value("w")).bytes(), "z");
    one->append("c", Value("!"));
    EXPECT_EQ(other->multi_get({"c", "a"}), (std::vector<Value>{Value("z!"), Value("abc")}));
    EXPECT_EQ(other->num_keys(), 4);
  });
}

TEST_F(FileStore, counts_clients_that_have_it_open_and_clients_that_had) {
  run([](sim::Ports& ports) {
    auto one = open_file_store(ports, "/f");
    EXPECT_EQ(ports.files.read("/f").value(), kOneUser);
    EXPECT_EQ(one->num_keys(), 1);
    auto other = open_file_store(ports, "/f");
    const auto onlooker = open_file_store(ports, "/f", FileStoreUser::onlooker);
    one.reset();
    EXPECT_EQ(other->num_keys(), 2);
    std::string left = ports.files.read("/f").value();
    other.reset();
    left += std::string(
        "\x8\0\0\0cleanup/\1\0\0\0"
        "2"
        "\x9\0\0\0refcount/\1\0\0\0"
        "0",
        35);
    EXPECT_EQ(ports.files.read("/f").value(), left);
    EXPECT_EQ(onlooker->num_keys(), 2);
  });
}

TEST_F(FileStore, of_pytorch_1_13_counts_only_clients_that_have_left) {
  run([](sim::Ports& ports) {
    auto store = open_file_store(ports, "/f", FileStoreUser::counted_at_leave);
    EXPECT_FALSE(ports.files.exists("/f"));
    store->set("k", Value("v"));
    store.reset();
    EXPECT_EQ(ports.files.read("/f").value(),
              std::string("\2\0\0\0/k\1\0\0\0v\x8\0\0\0cleanup/\1\0\0\0"
                          "1",
                          28));
  });
}

TEST_F(FileStore, does_not_make_a_file_again_that_is_gone) {
  run([](sim::Ports& ports) {
    auto store = open_file_store(ports, "/f");
    static_cast<void>(ports.files.remove("/f"));
    store.reset();
    EXPECT_FALSE(ports.files.exists("/f"));
  });
}

/// A process that is killed while it has the store open counts itself neither out nor away.
TEST_F(FileStore, does_not_count_out_a_process_that_is_killed) {
  const sim::NodeId node = world_.node("n");
  const sim::Pid pid = world_.start(node, "test", [&](sim::Ports& ports) {
    const auto store = open_file_store(ports, "/f");
    sleep(ports, 1h);
    return 0;
  });
  world_.run_for(1s);
  world_.inject(world::FaultKind::process_signal, [&](world::Fault& fault) {
    fault.pid = pid;
    fault.node = node;
  });
  std::string left;
  world_.start(node, "onlooker", [&](sim::Ports& ports) {
    left = ports.files.read("/f").value();
    return 0;
  });
  world_.run_for(1s);
  EXPECT_EQ(left, kOneUser);
}

TEST_F(FileStore, waits_for_what_another_process_writes) {
  run([&](sim::Ports& ports) {
    ports.executor.spawn("late", [&] {
      sleep(ports, 5s);
      open_file_store(ports, "/f")->set("k", Value("v"));
    });
    const auto store = open_file_store(ports, "/f");
    EXPECT_EQ(store->get("k").bytes(), "v");
    EXPECT_THROW(store->wait({"k", "never"}, 1s), StoreTimeoutError);
    EXPECT_NO_THROW(store->wait({}, 1s));
  });
}

TEST_F(FileStore, says_where_a_record_is_cut_short) {
  run([](sim::Ports& ports) {
    const auto store = open_file_store(ports, "/f");
    store->set("k", Value("v"));
    static_cast<void>(ports.files.append("/f", std::string("\2\0\0\0/k\1\0", 8)));
    try {
      static_cast<void>(store->get("k"));
      FAIL() << "PyTorch's own readers would hang here";
    } catch (const StoreError& error) {
      EXPECT_STREQ(error.what(), "/f: byte 29: expected a whole record, got the end of the file");
    }
  });
}

TEST_F(FileStore, is_an_error_where_it_cannot_be_written) {
  run([](sim::Ports& ports) {
    EXPECT_THROW(open_file_store(ports, "/none/f"), StoreError);
    const auto onlooker = open_file_store(ports, "/none/f", FileStoreUser::onlooker);
    EXPECT_THROW(onlooker->set("k", Value("v")), StoreError);
  });
}

}  // namespace
}  // namespace hooke::model
