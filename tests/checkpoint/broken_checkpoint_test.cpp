// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/manifest.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/io/xxhash64.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/shared_folder.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <sys/resource.h>

/// A checkpoint that is not what was written is refused on all ranks, by the name of the file; the one before
/// it is taken. One that cannot be written leaves everything as it was.
namespace kadam::broken_checkpoint_test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t d = 1500;
const TensorLayout layout({{"a", 0, 500}, {"b", 500, d}});
const OptionMap options = {{"warmup_steps", 2}};

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}
void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class BrokenCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    for (std::int64_t t = 1; t <= 5; ++t) step(*optimizer_, x_, t);
    older_ = checkpoint::save(exec_, *optimizer_, x_, folder_.path(), {}, 0);
    step(*optimizer_, x_, 6);
    newer_ = checkpoint::save(exec_, *optimizer_, x_, folder_.path(), {}, 0);
  }

  [[nodiscard]] std::unique_ptr<Optimizer> make() const {
    return make_optimizer("onebit_adam", options, layout, communicator_);
  }
  void step(Optimizer& optimizer, const Vector<float>& x, std::int64_t t) const {
    const auto g = test::to_device(test::random_gradient(d, communicator_->rank(), t));
    (void)optimizer.step(exec_, x, g);
    exec_.fence();
  }
  /// Rank 0 does something to the files; then all have seen it.
  void on_root(const std::function<void()>& change) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (communicator_->rank() == 0) change();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  [[nodiscard]] std::string refusal(const fs::path& path) const {
    const auto optimizer = make();
    const auto x = allocate<float>(exec_, "x", d);
    try {
      (void)checkpoint::restore(exec_, *optimizer, x, path);
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  /// Refused on all ranks, on one of them at least by that name.
  void expect_refused(const std::string& name) const {
    const std::string words = refusal(newer_);
    EXPECT_FALSE(words.empty());
    const double names = words.find(name) != std::string::npos ? 1.0 : 0.0;
    EXPECT_GT(communicator_->sum_over_ranks(names), 0.0) << words;
    std::string passed_over;
    const auto optimizer = make();
    const auto x = allocate<float>(exec_, "x", d);
    const auto restored = checkpoint::restore_newest(
        exec_, *optimizer, x, folder_.path(),
        [&](const fs::path& path, const std::string& /*why*/) { passed_over = path.filename().string(); });
    ASSERT_TRUE(restored.has_value());
    EXPECT_EQ(restored->step, 5);
    EXPECT_EQ(passed_over, communicator_->rank() == 0 ? newer_.filename().string() : "");
  }
  /// A change of one file, which is undone afterwards; the refusal has these words, or the file's name.
  void expect_refused_after(const std::string& name, const std::function<void(std::string&)>& change,
                            const std::string& words = "") const {
    const fs::path path = newer_ / name;
    std::string whole;
    on_root([&] {
      whole = read(path);
      std::string changed = whole;
      change(changed);
      write(path, changed);
    });
    expect_refused(words.empty() ? name : words);
    on_root([&] { write(path, whole); });
  }
  /// Changes of files, or of what MANIFEST lists, as if they had been written so: every checksum is right.
  /// The change is undone afterwards. Refused with these words on one rank at least.
  void expect_refused_as_written(
      const std::string& words, const std::function<void(const std::string& name, std::string& text)>& change,
      const std::function<void(checkpoint::Manifest&)>& list = {}) const {
    SCOPED_TRACE(words);
    std::vector<std::string> before;
    on_root([&] {
      checkpoint::Manifest manifest = checkpoint::read_manifest(newer_);
      for (checkpoint::ManifestFile& file : manifest.files) {
        before.push_back(read(newer_ / file.name));
        std::string text = before.back();
        change(file.name, text);
        write(newer_ / file.name, text);
        io::XxHash64 hash;
        hash.add(std::as_bytes(std::span(text)));
        file.bytes = text.size();
        file.hash = hash.value();
      }
      before.push_back(read(newer_ / "MANIFEST"));
      if (list) list(manifest);
      write(newer_ / "MANIFEST", checkpoint::to_text(manifest));
    });
    const std::string got = refusal(newer_);
    EXPECT_FALSE(got.empty()) << "it was restored";
    const double found = got.find(words) != std::string::npos ? 1.0 : 0.0;
    EXPECT_GT(communicator_->sum_over_ranks(found), 0.0) << got;
    on_root([&] {
      write(newer_ / "MANIFEST", before.back());
      const checkpoint::Manifest manifest = checkpoint::read_manifest(newer_);
      for (std::size_t k = 0; k < manifest.files.size(); ++k)
        write(newer_ / manifest.files[k].name, before[k]);
    });
  }
  /// The same where these words of all state files have become others, of the same length.
  void expect_refused_with(const std::string& words,
                           const std::vector<std::pair<std::string, std::string>>& swaps) {
    expect_refused_as_written(words, [&](const std::string& name, std::string& text) {
      if (!name.starts_with("state-")) return;
      for (const auto& [from, to] : swaps) {
        ASSERT_EQ(from.size(), to.size());
        const std::size_t at = text.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
      }
    });
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names = {"MANIFEST", "parameters.safetensors"};
    for (int rank = 0; rank < communicator_->size(); ++rank) {
      names.push_back("state-" + std::to_string(rank) + "-of-" + std::to_string(communicator_->size()) +
                      ".safetensors");
    }
    return names;
  }

  const ExecutionSpace exec_;
  const std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  test::SharedFolder folder_;
  std::unique_ptr<Optimizer> optimizer_ = make();
  Vector<float> x_ = test::to_device(test::random_vector(d, 2));
  fs::path older_;
  fs::path newer_;
};

TEST_F(BrokenCheckpoint, BitFlippedAnywhereIsRefusedByName) {
  for (const std::string& name : files()) {
    const std::size_t bytes = fs::file_size(newer_ / name);
    // Length of the header, header, the first and last of the data: or the words of MANIFEST.
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{7}, std::size_t{20}, bytes / 3, bytes / 2, bytes - 2}) {
      SCOPED_TRACE(testing::Message() << name << ", byte " << at);
      expect_refused_after(name, [&](std::string& text) { text[at] = static_cast<char>(text[at] ^ 1); });
    }
  }
}

TEST_F(BrokenCheckpoint, EveryByteOfTheManifestCounts) {
  on_root([&] {
    const std::string whole = read(newer_ / "MANIFEST");
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const char flip : {'\x01', '\x10', '\x7f'}) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ flip);
        write(newer_ / "MANIFEST", changed);
        EXPECT_THROW((void)checkpoint::read_manifest(newer_), std::runtime_error) << at << " " << int{flip};
      }
      write(newer_ / "MANIFEST", whole.substr(0, at));
      EXPECT_THROW((void)checkpoint::read_manifest(newer_), std::runtime_error) << "cut to " << at;
    }
    write(newer_ / "MANIFEST", whole + whole);
    EXPECT_THROW((void)checkpoint::read_manifest(newer_), std::runtime_error);
    write(newer_ / "MANIFEST", whole);
    EXPECT_EQ(checkpoint::to_text(checkpoint::read_manifest(newer_)), whole);
  });
}

TEST_F(BrokenCheckpoint, TruncatedAndGrownAreRefusedByName) {
  for (const std::string& name : files()) {
    SCOPED_TRACE(name);
    expect_refused_after(name, [](std::string& text) { text.pop_back(); });
    expect_refused_after(name, [](std::string& text) { text.resize(text.size() / 2); });
    expect_refused_after(name, [](std::string& text) { text.clear(); });
    expect_refused_after(name, [](std::string& text) { text += '\n'; });
    // Its length is looked at before its contents.
    if (name == "MANIFEST") continue;
    expect_refused_after(
        name, [](std::string& text) { text += '\n'; }, "bytes in all, as MANIFEST says");
  }
}

TEST_F(BrokenCheckpoint, MissingSwappedAndForeignFilesAreRefusedByName) {
  const std::string last = files().back();
  const std::string first = files()[2];
  for (const std::string& name : files()) {
    on_root([&] { fs::rename(newer_ / name, newer_ / "elsewhere"); });
    expect_refused(name);
    on_root([&] { fs::rename(newer_ / "elsewhere", newer_ / name); });
  }
  std::string whole;
  expect_refused_after(last, [&](std::string& text) { text = read(older_ / last); });
  if (communicator_->size() > 1) {
    on_root([&] {
      fs::rename(newer_ / first, newer_ / "elsewhere");
      fs::rename(newer_ / last, newer_ / first);
      fs::rename(newer_ / "elsewhere", newer_ / last);
    });
    expect_refused(first);
  }
}

/// Files that are as they were written, by another version or for another optimizer.
TEST_F(BrokenCheckpoint, ForeignStatesAreRefusedInWords) {
  expect_refused_with("expected the format 'kadam state 1', found 'kadam state 7'",
                      {{"kadam state 1", "kadam state 7"}});
  expect_refused_with("it was saved with d = 1400 parameters, the model has d = 1500",
                      {{R"("elements":"1500")", R"("elements":"1400")"}});
  expect_refused_with("expected metadata with 'optimizer'", {{R"("optimizer":)", R"("optimiser":)"}});
  expect_refused_with("the state of onebit_adam has no 'frozen'", {{"number.frozen", "number.frozem"}});
  expect_refused_with("expected a value for the number 'frozen' that fits these options, found 'tree'",
                      {{R"("number.frozen":"true")", R"("number.frozen":"tree")"}});
  expect_refused_with("the place of 'v' among the ranks", {{R"("place.v")", R"("place.w")"}});
  expect_refused_with("the state of onebit_adam has no 'v'",
                      {{R"("place.v")", R"("place.w")"}, {R"("v":)", R"("w":)"}});
  expect_refused_with(
      "it holds 'worker_miser', but onebit_adam has no place for it with these options",
      {{R"("place.worker_error")", R"("place.worker_miser")"}, {R"("worker_error":)", R"("worker_miser":)"}});
  expect_refused_as_written(
      "expected a file state-", [](const std::string& /*name*/, std::string& /*text*/) {},
      [](checkpoint::Manifest& manifest) {
        std::erase_if(manifest.files, [](const auto& file) { return file.name.starts_with("state-0"); });
      });
  expect_refused_as_written(
      "a file name without '/' before this byte", [](const std::string& /*name*/, std::string& /*text*/) {},
      [](checkpoint::Manifest& manifest) { manifest.files.back().name.insert(0, "../"); });
  expect_refused_after(
      "MANIFEST", [](std::string& text) { text.replace(text.find(" 1\n"), 2, " 7"); },
      "found 7: use the version of Kadam that wrote it");
  EXPECT_EQ(refusal(newer_), "") << "the checkpoint itself";
}

TEST_F(BrokenCheckpoint, RanksThatSeeDifferentOnesAreToldToShareAFolder) {
  if (communicator_->size() == 1) GTEST_SKIP() << "one rank sees the same as itself";
  const std::string words = refusal(communicator_->rank() == 0 ? newer_ : older_);
  EXPECT_NE(words.find("MANIFEST"), std::string::npos) << words;
  EXPECT_NE(words.find("a folder that all ranks share"), std::string::npos) << words;
}

TEST_F(BrokenCheckpoint, NoneWholeIsAnErrorAndNoneAtAllIsNone) {
  on_root([&] {
    fs::remove(newer_ / "MANIFEST");
    fs::remove(older_ / "MANIFEST");
  });
  EXPECT_THROW((void)checkpoint::restore_newest(exec_, *optimizer_, x_, folder_.path()), std::runtime_error);
  EXPECT_FALSE(checkpoint::restore_newest(exec_, *optimizer_, x_, folder_.path() / "none").has_value());
}

TEST_F(BrokenCheckpoint, AnotherModelIsRefusedInWords) {
  const auto expect_refused_by = [&](const TensorLayout& other, const std::string& words) {
    const auto optimizer = make_optimizer("onebit_adam", options, other, communicator_);
    const auto x = allocate<float>(exec_, "x", other.elements());
    try {
      (void)checkpoint::restore(exec_, *optimizer, x, newer_);
      ADD_FAILURE() << "it was restored";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect_refused_by(TensorLayout({{"a", 0, 500}}), "d = 1500 parameters, the model has d = 500");
  expect_refused_by(TensorLayout({{"a", 0, 500}, {"c", 500, d}}), "its tensors have other names or lengths");
}

TEST_F(BrokenCheckpoint, KeepsAsManyAsItIsTold) {
  step(*optimizer_, x_, 7);
  const fs::path newest =
      checkpoint::save(exec_, *optimizer_, x_, folder_.path(), {{"words", "of the program"}}, 2);
  EXPECT_TRUE(fs::exists(newest) && fs::exists(newer_));
  EXPECT_FALSE(fs::exists(older_));
  // The same step again, over the first.
  (void)checkpoint::save(exec_, *optimizer_, x_, folder_.path(), {{"words", "said again"}}, 2);
  const auto optimizer = make();
  EXPECT_EQ(checkpoint::restore(exec_, *optimizer, x_, newest).program.at("words"), "said again");
  on_root(
      [&] { EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 2); });
}

TEST_F(BrokenCheckpoint, LaterOnesOfAPastThatWasLeftAreSetAside) {
  for (std::int64_t t = 7; t <= 8; ++t) step(*optimizer_, x_, t);
  const fs::path later = checkpoint::save(exec_, *optimizer_, x_, folder_.path(), {}, 0);
  const auto optimizer = make();
  const auto x = allocate<float>(exec_, "x", d);
  (void)checkpoint::restore(exec_, *optimizer, x, older_);
  for (std::int64_t t = 6; t <= 7; ++t) step(*optimizer, x, t);
  (void)checkpoint::save(exec_, *optimizer, x, folder_.path(), {}, 2);
  EXPECT_FALSE(fs::exists(later));
  EXPECT_TRUE(fs::exists(later.string() + ".set-aside"));
  EXPECT_TRUE(fs::exists(newer_));  // the second of two that are kept
  const auto again = make();
  const auto restored = checkpoint::restore_newest(exec_, *again, x, folder_.path());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->step, 7);
}

TEST_F(BrokenCheckpoint, OneThatCannotBeWrittenChangesNothing) {
  const std::vector<float> before = test::to_host(x_);
  // One rank alone may write no more than 1 kB to a file, as if its quota were used up.
  rlimit usual{};
  getrlimit(RLIMIT_FSIZE, &usual);
  const bool is_limited = communicator_->rank() == communicator_->size() - 1;
  const auto former = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limited = {1024, usual.rlim_max};
  if (is_limited) setrlimit(RLIMIT_FSIZE, &limited);
  step(*optimizer_, x_, 7);
  std::string words;
  try {
    (void)checkpoint::save(exec_, *optimizer_, x_, folder_.path());
  } catch (const std::runtime_error& error) {
    words = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &usual);
  (void)std::signal(SIGXFSZ, former);
  EXPECT_FALSE(words.empty());
  EXPECT_TRUE(!is_limited || words.find("state-") != std::string::npos) << words;
  on_root([&] {
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 2)
        << "left over";
  });
  // As without the attempt: the other optimizer takes the same steps from the checkpoint before.
  const auto optimizer = make();
  const auto x = allocate<float>(exec_, "x", d);
  (void)checkpoint::restore(exec_, *optimizer, x, newer_);
  EXPECT_TRUE(test::bitwise_equal(test::to_host(x), before));
  for (std::int64_t t = 7; t <= 9; ++t) step(*optimizer, x, t);
  for (std::int64_t t = 8; t <= 9; ++t) step(*optimizer_, x_, t);
  EXPECT_TRUE(test::bitwise_equal(test::to_host(x), test::to_host(x_)));
  // A file where the folder should be.
  on_root([&] { write(folder_.path() / "file", "words"); });
  EXPECT_THROW((void)checkpoint::save(exec_, *optimizer_, x_, folder_.path() / "file"), std::runtime_error);
}

}  // namespace
}  // namespace kadam::broken_checkpoint_test
