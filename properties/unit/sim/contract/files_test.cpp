// Files and FIFOs.
#include <sys/stat.h>

#include "contract_world.h"
#include "sim/port/sync.h"

namespace hooke::contract {
namespace {

class Files : public PortContract {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return place->directory() + "/" + name;
  }
  static std::string contents(Ports& ports, const std::string& path) {
    auto text = ports.files.read(path);
    return text ? text.value() : "<" + std::string(to_string(text.failure().fault)) + ">";
  }
  /// Both ends of a new FIFO. The reader is there after something was written and join(): a real
  /// one hears of its writer no earlier.
  struct FifoEnds {
    FifoEnds(Ports& ports, const std::string& path) : scope(ports.executor) {
      EXPECT_TRUE(ports.files.make_fifo(path).ok());
      scope.spawn("reader", [this, &ports, path] {
        auto opened = std::move(ports.files.open_fifo_reader(path)).value();
        EXPECT_EQ(fault_of(opened->wait_for_writer(in(ports, 10s))), "ok");
        reader = std::move(opened);
      });
      sleep(ports, 5ms);
      writer = std::move(ports.files.open_fifo_writer(path)).value();
    }
    void join() { scope.join(); }
    std::unique_ptr<sim::FifoReader> reader;
    std::unique_ptr<sim::FifoWriter> writer;
    sim::Scope scope;
  };
};
INSTANTIATE_TEST_SUITE_P(In, Files, testing::Values("simulated", "real"), world_name);

TEST_P(Files, hold_what_was_written_and_appended) {
  run([&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(path("a/b")));
    EXPECT_TRUE(ports.files.make_directories(path("a/b")).ok());
    EXPECT_TRUE(ports.files.write(path("a/b/c"), "one").ok());
    EXPECT_TRUE(ports.files.append(path("a/b/c"), " two").ok());
    EXPECT_EQ(contents(ports, path("a/b/c")), "one two");
    EXPECT_TRUE(ports.files.write(path("a/b/c"), "three").ok());
    EXPECT_EQ(contents(ports, path("a/b/c")), "three");
    EXPECT_TRUE(ports.files.append(path("a/new"), "x").ok());
    EXPECT_EQ(ports.files.list(path("a")).value(), (std::vector<std::string>{"b", "new"}));
  });
}

TEST_P(Files, that_are_not_there_are_not_found) {
  run([&](Ports& ports) {
    EXPECT_EQ(contents(ports, path("none")), "<not found>");
    EXPECT_FALSE(ports.files.exists(path("none")));
    EXPECT_EQ(fault_of(ports.files.list(path("none"))), "not found");
    EXPECT_EQ(fault_of(ports.files.rename(path("none"), path("other"))), "not found");
    EXPECT_EQ(fault_of(ports.files.remove(path("none"))), "ok");
  });
}

TEST_P(Files, are_replaced_in_one_step) {
  run([&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(place->directory()));
    static_cast<void>(ports.files.write(path("old"), "old"));
    static_cast<void>(ports.files.write(path("new"), "new"));
    EXPECT_TRUE(ports.files.rename(path("new"), path("old")).ok());
    EXPECT_EQ(contents(ports, path("old")), "new");
    EXPECT_FALSE(ports.files.exists(path("new")));
  });
}

TEST_P(Files, are_removed_with_their_directory) {
  run([&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(path("d/e")));
    static_cast<void>(ports.files.write(path("d/e/f"), "x"));
    EXPECT_TRUE(ports.files.remove(path("d")).ok());
    EXPECT_FALSE(ports.files.exists(path("d/e/f")));
    EXPECT_FALSE(ports.files.exists(path("d")));
  });
}

TEST_P(Files, are_removed_alone_and_never_a_directory) {
  run([&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(path("d/e")));
    static_cast<void>(ports.files.write(path("d/e/f"), "x"));
    EXPECT_EQ(fault_of(ports.files.remove_file(path("d"))), "denied");
    EXPECT_EQ(fault_of(ports.files.remove_file(path("d/e"))), "denied");
    EXPECT_EQ(contents(ports, path("d/e/f")), "x");
    EXPECT_EQ(fault_of(ports.files.remove_file(path("d/e/f"))), "ok");
    EXPECT_FALSE(ports.files.exists(path("d/e/f")));
    EXPECT_EQ(fault_of(ports.files.remove_file(path("d/e/f"))), "ok");
    EXPECT_TRUE(ports.files.exists(path("d/e")));
  });
}

TEST_P(Files, are_locked_by_many_readers_or_by_one_writer) {
  run([&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(place->directory()));
    const auto lock = [&](bool exclusive, sim::Duration timeout) {
      return ports.files.lock(path("f"), exclusive, true, in(ports, timeout));
    };
    EXPECT_EQ(fault_of(ports.files.lock(path("f"), false, false, in(ports, 1ms))), "not found");
    auto one = lock(false, 1ms), other = lock(false, 1ms);
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_EQ(contents(ports, path("f")), "");
    EXPECT_EQ(fault_of(lock(true, 5ms)), "timed out");
    *one = nullptr;
    EXPECT_EQ(fault_of(lock(true, 5ms)), "timed out");
    *other = nullptr;
    auto writer = lock(true, 1ms);
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ(fault_of(lock(false, 5ms)), "timed out");
    sim::Scope scope(ports.executor);
    scope.spawn("unlock", [&] {
      sleep(ports, 10ms);
      *writer = nullptr;
    });
    EXPECT_EQ(fault_of(lock(true, 10s)), "ok") << "a process that waits gets it in the end";
    scope.join();
  });
}

TEST_P(Files, a_fifo_hands_over_what_is_written) {
  run([&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(place->directory()));
    EXPECT_EQ(fault_of(ports.files.open_fifo_reader(path("fifo"))), "not found");
    EXPECT_EQ(fault_of(ports.files.open_fifo_writer(path("fifo"))), "not found");
    ASSERT_TRUE(ports.files.make_fifo(path("fifo")).ok());
    EXPECT_EQ(fault_of(ports.files.make_fifo(path("fifo"))), "already exists");
    EXPECT_EQ(fault_of(ports.files.open_fifo_writer(path("fifo"))), "closed") << "no process reads";
    auto reader = ports.files.open_fifo_reader(path("fifo"));
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(fault_of((*reader)->wait_for_writer(in(ports, 10ms))), "timed out");
    sim::Scope scope(ports.executor);
    scope.spawn("writer", [&] {
      sleep(ports, 10ms);
      auto writer = ports.files.open_fifo_writer(path("fifo"));
      ASSERT_TRUE(writer.ok());
      EXPECT_EQ(fault_of((*writer)->write("hello\n")), "ok");
      sleep(ports, 30ms);
    });
    EXPECT_EQ(fault_of((*reader)->wait_for_writer(in(ports, 10s))), "ok");
    EXPECT_EQ((*reader)->read(in(ports, 10s)).value(), "hello\n");
    EXPECT_EQ(fault_of((*reader)->read(in(ports, 1ms))), "timed out")
        << "the writer is still there";
    EXPECT_EQ((*reader)->read(in(ports, 10s)).value(), "") << "and now it is gone";
    EXPECT_EQ((*reader)->read(std::nullopt).value(), "");
    scope.join();
  });
}

TEST(RealFiles, a_fifo_is_of_its_user_alone_and_is_made_through_no_link) {
  const mode_t mask = umask(0);
  RealPlace place;
  place.run([&](Ports& ports) {
    const std::string fifo = place.directory() + "/fifo", link = place.directory() + "/link";
    ASSERT_TRUE(ports.files.make_fifo(fifo).ok());
    struct stat kind {};
    ASSERT_EQ(stat(fifo.c_str(), &kind), 0);
    EXPECT_EQ(kind.st_mode & 0777U, 0600U);
    std::filesystem::create_symlink(place.directory() + "/elsewhere", link);
    EXPECT_EQ(fault_of(ports.files.make_fifo(link)), "already exists");
    ASSERT_TRUE(ports.files.remove_file(link).ok());
    EXPECT_FALSE(std::filesystem::is_symlink(link));
  });
  umask(mask);
}

TEST(RealFiles, a_private_directory_is_of_its_user_alone_and_is_made_through_no_link) {
  const mode_t mask = umask(0);
  RealPlace place;
  place.run([&](Ports& ports) {
    const std::string own = place.directory() + "/own", link = place.directory() + "/link";
    ASSERT_TRUE(ports.files.make_private_directory(own).ok());
    struct stat kind {};
    ASSERT_EQ(stat(own.c_str(), &kind), 0);
    EXPECT_EQ(kind.st_mode & 0777U, 0700U);
    EXPECT_EQ(fault_of(ports.files.make_private_directory(own)), "already exists");
    std::filesystem::create_symlink(own, link);
    EXPECT_EQ(fault_of(ports.files.make_private_directory(link)), "already exists");
    EXPECT_EQ(fault_of(ports.files.make_private_directory(own + "/a/b")), "not found");
  });
  umask(mask);
}

TEST_P(Files, a_fifo_outlives_its_path_and_not_its_reader) {
  run([&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(place->directory()));
    FifoEnds fifo(ports, path("fifo"));
    ASSERT_TRUE(ports.files.remove(path("fifo")).ok());
    EXPECT_EQ(fault_of(fifo.writer->write("x")), "ok");
    fifo.join();
    EXPECT_EQ(fifo.reader->read(in(ports, 1s)).value(), "x");
    fifo.reader = nullptr;
    EXPECT_EQ(fault_of(fifo.writer->write("y")), "closed");
  });
}

TEST_P(Files, a_full_fifo_takes_nothing) {
  run([&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(place->directory()));
    FifoEnds fifo(ports, path("fifo"));
    const std::string line(4096, 'x');
    std::size_t written = 0;
    std::string fault;
    while (fault.empty() && written < 100 * line.size()) {
      const auto done = fifo.writer->write(line);
      if (done.ok()) {
        written += line.size();
      } else {
        fault = fault_of(done);
      }
    }
    EXPECT_EQ(fault, "no space left");
    fifo.join();
    std::size_t read = 0;
    while (read < written) read += fifo.reader->read(in(ports, 1s))->size();
    EXPECT_EQ(read, written);
  });
}

TEST_P(Files, a_regular_file_is_no_fifo) {
  run([&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(place->directory()));
    static_cast<void>(ports.files.write(path("f"), "x"));
    EXPECT_EQ(fault_of(ports.files.open_fifo_writer(path("f"))), "denied");
    EXPECT_EQ(fault_of(ports.files.open_fifo_reader(path("f"))), "denied");
    EXPECT_EQ(contents(ports, path("f")), "x");
  });
}

}  // namespace
}  // namespace hooke::contract
