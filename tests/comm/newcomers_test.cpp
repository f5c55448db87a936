// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/comm/socket_communicator.hpp>
#include <kadam/comm/socket_door.hpp>
#include <kadam/comm/socket_meeting.hpp>
#include <support/mpi_world.hpp>
#include <support/newcomers.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <poll.h>
#include <thread>
#include <unistd.h>

/// Processes that join ranks which are at work: the last ranks of MPI_COMM_WORLD, which the others know
/// nothing of.
namespace kadam {
namespace {

using test::Newcomers;

/// 0, 1, ... as all ranks say it.
void expect_all(Communicator& communicator, int ranks) {
  ASSERT_EQ(communicator.size(), ranks);
  std::vector<double> wanted(static_cast<std::size_t>(ranks));
  std::iota(wanted.begin(), wanted.end(), 0.0);
  const double own = communicator.rank();
  EXPECT_EQ(communicator.all_gather_values({&own, 1}), wanted);
}

class NewcomersTest : public testing::Test {
 protected:
  NewcomersTest() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  static void all_come_here() { MPI_Barrier(MPI_COMM_WORLD); }
  /// Until somebody is let in; null if nobody is within some seconds.
  static std::shared_ptr<Communicator> admit(Communicator& to, const std::string& kind = "a") {
    for (int attempt = 0; attempt < 500; ++attempt) {
      if (std::shared_ptr<Communicator> all = to.admit(kind)) return all;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return nullptr;
  }

  int rank_ = 0;
  int ranks_ = 1;
};

/// One after the other, behind those who are there; what is made of all of them works, and so does what was
/// there before.
TEST_F(NewcomersTest, AreTakenInBehindTheOthers) {
  if (ranks_ < 2) GTEST_SKIP() << "needs 2 ranks";
  for (int old = 1; old < ranks_; ++old) {
    Newcomers who(old);
    if (rank_ <= old) {
      const std::shared_ptr<Communicator> all = who.old ? admit(*who.old) : who.join("a");
      ASSERT_NE(all, nullptr);
      expect_all(*all, old + 1);
      expect_all(*all->duplicate(), old + 1);
      expect_all(*all->split(0), old + 1);
      if (who.old) expect_all(*who.old, old);
    }
    all_come_here();
  }
}

/// As many as there are ask the same rank, at the same time.
TEST_F(NewcomersTest, MayBeSeveral) {
  if (ranks_ < 3) GTEST_SKIP() << "needs 3 ranks";
  Newcomers who(1);
  std::shared_ptr<Communicator> all = who.old ? nullptr : who.join("a");
  if (who.old) {
    while (who.old->newcomers() + 1 < static_cast<std::size_t>(ranks_)) {
    }
    all = who.old->admit("a");
  }
  expect_all(*all, ranks_);
  all_come_here();
}

/// The first rank leaves, through whose door the newcomer has come; and it comes back.
TEST_F(NewcomersTest, OutliveTheRankThatLetThemIn) {
  if (ranks_ < 3) GTEST_SKIP() << "needs 3 ranks";
  Newcomers who(ranks_ - 1);
  std::shared_ptr<Communicator> all = who.old ? admit(*who.old) : who.join("a");
  ASSERT_NE(all, nullptr);
  expect_all(*all, ranks_);
  const std::vector<std::string> doors = all->all_gather_texts(all->door());
  who.old.reset();
  if (rank_ == 0) {
    all.reset();
    all = join_socket_communicator(doors, "b", test::socket_options());
  } else {
    EXPECT_THROW((void)all->sum_over_ranks(0.0), PeerFailure);
    const std::shared_ptr<Communicator> left = all->survivors();
    expect_all(*left, ranks_ - 1);
    all = admit(*left, "b");
  }
  ASSERT_NE(all, nullptr);
  expect_all(*all, ranks_);
  EXPECT_EQ(all->rank(), rank_ == 0 ? ranks_ - 1 : rank_ - 1);
  // Once more, after an epoch that it has been told of.
  if (rank_ == 1) {
    all.reset();
  } else {
    EXPECT_THROW((void)all->sum_over_ranks(0.0), PeerFailure);
    expect_all(*all->survivors(), ranks_ - 1);
  }
  all_come_here();
}

/// The kind of those who are there, of one that is not let in, and the two lines in which they differ.
struct OtherKind {
  const char* theirs;
  const char* its;
  const char* line_of_theirs;
  const char* line_of_its;
};

TEST_F(NewcomersTest, OfAnotherKindAreRefusedInWords) {
  if (ranks_ < 2) GTEST_SKIP() << "needs 2 ranks";
  for (const OtherKind& kind :
       {OtherKind{"adam of d = 10", "adam of d = 11", "'adam of d = 10'", "'adam of d = 11'"},
        OtherKind{"adam\nlr 0.1\n", "adam\n", "'lr 0.1'", "'nothing more'"}}) {
    Newcomers who(ranks_ - 1);
    if (who.old) {
      while (who.old->sum_over_ranks(static_cast<double>(who.old->newcomers())) == 0.0) {
      }
      EXPECT_EQ(who.old->admit(kind.theirs), nullptr);
      expect_all(*who.old, ranks_ - 1);
    } else {
      try {
        (void)who.join(kind.its);
        ADD_FAILURE() << "it was let in";
      } catch (const std::invalid_argument& refusal) {
        const std::string words = refusal.what();
        EXPECT_NE(words.find(kind.line_of_theirs), std::string::npos) << words;
        EXPECT_NE(words.find(kind.line_of_its), std::string::npos) << words;
      }
    }
    all_come_here();
  }
}

/// Nobody waits for who has given up, and 5 seconds for who says nothing after its invitation.
TEST_F(NewcomersTest, WhoFailAreLeftOut) {
  if (ranks_ < 2) GTEST_SKIP() << "needs 2 ranks";
  Newcomers who(ranks_ - 1);
  if (who.old) {
    all_come_here();
    // The end may come a moment after what was said before.
    for (int attempt = 0; attempt < 300 && who.old->newcomers() > 0; ++attempt)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(who.old->newcomers(), 0U) << "it had ended";
    EXPECT_EQ(who.old->admit("a"), nullptr);
    all_come_here();
    all_come_here();
    EXPECT_EQ(who.old->admit("a"), nullptr) << "it does not connect";
    expect_all(*who.old, ranks_ - 1);
    all_come_here();
    const std::shared_ptr<Communicator> all = admit(*who.old);
    ASSERT_NE(all, nullptr);
    expect_all(*all, ranks_);
  } else {
    const auto soon = [] { return sockets::soon(sockets::Clock::time_point::max()); };
    const std::string kind = SocketMeeting(0, test::socket_options()).with_terms("a");
    // Asks as a newcomer does, and goes on otherwise.
    const auto ask = [&] {
      const int descriptor = sockets::begin_connection(who.doors.front()).value();
      pollfd one{descriptor, POLLOUT, 0};
      EXPECT_EQ(::poll(&one, 1, 5000), 1);
      sockets::Hello hello{.group = sockets::newcomers};
      EXPECT_TRUE(sockets::transfer(descriptor, hello, POLLOUT, soon()) &&
                  sockets::send_text(descriptor, "127.0.0.1:1", soon()) &&
                  sockets::send_text(descriptor, kind, soon()));
      return descriptor;
    };
    ::close(ask());
    all_come_here();
    all_come_here();
    const int silent = ask();
    all_come_here();
    const std::optional<std::string> answer = sockets::receive_text(silent, soon());
    EXPECT_TRUE(answer && answer->front() == 'i') << answer.value_or("nothing");
    // The ranks wait for it as long as is_welcome() would wait for them: it has to see their answer.
    pollfd answered{silent, POLLIN, 0};
    EXPECT_EQ(::poll(&answered, 1, 60000), 1) << "nobody turned it away";
    EXPECT_FALSE(SocketDoor::is_welcome(silent));
    ::close(silent);
    all_come_here();
    const std::shared_ptr<Communicator> all = who.join("a");
    expect_all(*all, ranks_);
  }
  all_come_here();
}

/// Doors that nobody opens any more are passed by; and who finds none open gives up.
TEST_F(NewcomersTest, TryOneDoorAfterTheOther) {
  if (ranks_ < 2) GTEST_SKIP() << "needs 2 ranks";
  Newcomers who(ranks_ - 1);
  std::shared_ptr<Communicator> all;
  if (who.old) {
    all = admit(*who.old);
  } else {
    SocketOptions options = test::socket_options();
    options.exchange.timeout_seconds = 0.2;
    EXPECT_THROW((void)join_socket_communicator({"127.0.0.1:1"}, "a", options), std::runtime_error);
    EXPECT_THROW((void)join_socket_communicator({}, "a", options), std::runtime_error);
    who.doors.insert(who.doors.begin(), "127.0.0.1:1");
    all = who.join("a");
  }
  ASSERT_NE(all, nullptr);
  expect_all(*all, ranks_);
  all_come_here();
}

/// Who is let in, and cannot connect with a rank, does not ask for ever.
TEST_F(NewcomersTest, GiveUpWhereTheyCannotReachARank) {
  if (ranks_ != 2) GTEST_SKIP() << "needs 2 ranks";
  std::shared_ptr<Communicator> old;
  std::array<char, 64> door{};
  if (rank_ == 0) {
    SocketOptions options = test::socket_options();
    options.host = "no-such-host.invalid";
    const auto alone = [](const std::string& own) { return std::vector<std::string>{own}; };
    old = make_socket_communicator(0, 1, alone, options);
    const std::string here = "127.0.0.1" + old->door().substr(options.host.size());
    std::copy(here.begin(), here.end(), door.begin());
  }
  MPI_Bcast(door.data(), static_cast<int>(door.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank_ == 1) {
    try {
      (void)join_socket_communicator({door.data()}, "a", test::socket_options());
      ADD_FAILURE() << "it was let in";
    } catch (const std::runtime_error& failure) {
      EXPECT_NE(std::string(failure.what()).find("this host does not know that name"), std::string::npos)
          << failure.what();
    }
  } else {
    for (int attempt = 0; attempt < 3; ++attempt) {
      while (old->newcomers() == 0) {
      }
      EXPECT_EQ(old->admit("a"), nullptr);
    }
  }
  all_come_here();
}

TEST_F(NewcomersTest, AreNoneWhereNobodyAsks) {
  Newcomers who(ranks_);
  EXPECT_EQ(who.old->newcomers(), 0U);
  EXPECT_EQ(who.old->admit("a"), nullptr);
  const auto mpi = make_mpi_communicator(MPI_COMM_WORLD);
  EXPECT_EQ(mpi->door(), "");
  EXPECT_EQ(mpi->newcomers(), 0U);
  EXPECT_EQ(mpi->admit("a"), nullptr);
}

/// A rank fails while others let somebody in: that is a failure as any other, and the newcomer asks again.
TEST_F(NewcomersTest, WaitWhileOthersFail) {
  if (ranks_ < 4) GTEST_SKIP() << "needs 4 ranks";
  Newcomers who(ranks_ - 1);
  std::shared_ptr<Communicator> all;
  if (rank_ == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    who.old.reset();
  } else if (who.old) {
    // It asks rank 0, who lets it in when all have said so.
    while (rank_ == 0 && who.old->newcomers() == 0) {
    }
    EXPECT_THROW((void)who.old->admit("a"), PeerFailure);
    const std::shared_ptr<Communicator> left = who.old->survivors();
    all = admit(*left);
  } else {
    all = who.join("a");
  }
  if (rank_ != 1) {
    ASSERT_NE(all, nullptr);
    expect_all(*all, ranks_ - 1);
  }
  all_come_here();
}

}  // namespace
}  // namespace kadam
