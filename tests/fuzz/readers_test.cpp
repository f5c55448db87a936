// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fuzz/largest_allocation.hpp>
#include <fuzz/mutator.hpp>
#include <kadam/checkpoint/manifest.hpp>
#include <kadam/io/npy.hpp>
#include <kadam/io/safetensors.hpp>
#include <replay/recorded_gradients.hpp>
#include <replay/replay_case.hpp>
#include <train/configuration.hpp>
#include <workloads/image_files.hpp>
#include <workloads/reader_fixture.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <ostream>

/// Every reader, given files that are nearly right: it reads them, or says in one sentence what it expected
/// in which file. No crash, no hang, and nothing allocated that the file could not fill.
///
/// KADAM_FUZZ_INPUTS says how many inputs each reader gets (default 100,000), always the same.
namespace kadam {
namespace {

namespace fs = std::filesystem;

struct Reader {
  std::string name;
  std::string file;
  std::vector<std::string> (*seeds)();
  void (*read)(const fs::path& file);
  /// What a byte of the file may become: gzip packs 1032 to 1.
  std::size_t growth = 16;
};

std::ostream& operator<<(std::ostream& out, const Reader& reader) {
  return out << reader.name;
}

/// What a writer writes.
template <class Write>
std::string written(const Write& write) {
  const test::TemporaryFolder folder;
  write(folder.path() / "seed");
  return folder.read("seed");
}

std::vector<std::string> idx_seeds() {
  const std::string images = test::idx_header({2, 3, 4}) + std::string(24, '\x21');
  return {images, test::idx_header({1, 1, 1}) + "x",
          written([&](const fs::path& path) { test::write_gzip(path, images); })};
}

std::vector<std::string> cifar10_seeds() {
  const std::string record = '\x03' + std::string(3072, '\x55');
  return {record, record + record, written([&](const fs::path& path) { test::write_gzip(path, record); })};
}

std::vector<std::string> npy_seeds() {
  const std::vector<float> values(6, 0.5F);
  return {written([&](const fs::path& path) {
            io::write_npy(path, std::vector<std::int64_t>{2, 3}, values);
          }),
          written([&](const fs::path& path) { io::write_npy(path, std::vector<std::int64_t>{6}, values); })};
}

std::vector<std::string> safetensors_seeds() {
  const TensorLayout layout({{"a.weight", 0, 4}, {"a.bias", 4, 6}});
  const std::vector<float> values(6, 0.5F);
  return {written([&](const fs::path& path) {
            io::write_safetensors(path, layout, values, {{"step", "12"}});
          }),
          written([&](const fs::path& path) { io::write_safetensors(path, TensorLayout(), {}); })};
}

std::vector<std::string> toml_seeds() {
  train::Configuration configuration;
  configuration.optimizer.groups = {{"*.bias", 0.5, 0.0, true}};
  return {
      train::to_toml(configuration),
      "[optimizer]\nlr = [0.1, 0.2]\nname = \"lamb\"\n[optimizer.onebit_adam]\nwarmup_steps = \"auto\"\n"};
}

std::vector<std::string> case_seeds() {
  return {R"({"algorithm": "adam", "ranks": 1, "steps": 2, "options": {"lr": [0.1, 0.2], "beta1": 0.9},)"
          R"( "tensors": [{"name": "a", "begin": 0, "end": 3}]})"};
}

void read_case(const fs::path& file) {
  const fs::path folder = file.parent_path();
  if (!fs::exists(folder / "parameters.npy")) {
    io::write_npy(folder / "parameters.npy", std::vector<std::int64_t>{3}, std::vector<float>(3));
    io::write_npy(folder / "gradients.npy", std::vector<std::int64_t>{1, 2, 3}, std::vector<float>(6));
  }
  const replay::ReplayCase recorded = replay::read_case(folder, 1);
  (void)replay::RecordedGradients(recorded, 0);
}

std::vector<std::string> manifest_seeds() {
  const checkpoint::Manifest manifest{"onebit_adam", 1200, 2, {{"state-0-of-2.safetensors", 123, 4567}}};
  return {checkpoint::to_text(manifest), checkpoint::to_text({"adam", 0, 1, {}})};
}

std::vector<Reader> readers() {
  return {
      {"idx", "images", idx_seeds, [](const fs::path& file) { (void)workloads::read_idx(file, 3); }, 1100},
      {"cifar10", "data_batch_1.bin", cifar10_seeds,
       [](const fs::path& file) {
         workloads::ImageSet set;
         workloads::append_cifar10(file, set);
       },
       4500},
      {"npy", "a.npy", npy_seeds, [](const fs::path& file) { (void)io::read_npy(file); }},
      {"safetensors", "a.safetensors", safetensors_seeds,
       [](const fs::path& file) { (void)io::read_safetensors(file); }},
      {"tensor_file", "a.safetensors", safetensors_seeds,
       [](const fs::path& file) {
         io::TensorFile tensors(file);
         std::vector<std::byte> first(4);
         if (!tensors.tensors().empty()) tensors.read(0, 1, first);
       }},
      {"toml", "a.toml", toml_seeds, [](const fs::path& file) { (void)train::read_configuration(file, {}); }},
      {"case", "case.json", case_seeds, read_case},
      {"manifest", "MANIFEST", manifest_seeds,
       [](const fs::path& file) { (void)checkpoint::read_manifest(file.parent_path()); }},
  };
}

std::int64_t inputs() {
  const char* wanted = std::getenv("KADAM_FUZZ_INPUTS");
  return wanted == nullptr ? 100000 : std::atoll(wanted);
}

class Readers : public testing::TestWithParam<Reader> {};

TEST_P(Readers, ReadOrRefuseInWords) {
  const Reader& reader = GetParam();
  const std::vector<std::string> seeds = reader.seeds();
  const test::TemporaryFolder folder;
  test::Mutator mutator(std::hash<std::string>()(reader.name));
  std::int64_t refused = 0;
  const auto check = [&](const std::string& bytes) {
    const fs::path path = folder.write(reader.file, bytes);
    const std::size_t most = (std::size_t{1} << 20U) + reader.growth * bytes.size();
    test::forget_allocations();
    std::string words;
    bool is_refused = true;
    try {
      reader.read(path);
      is_refused = false;
    } catch (const std::runtime_error& error) {
      words = error.what();
    } catch (const std::invalid_argument& error) {
      words = error.what();
    }  // whatever else is thrown fails the test
    refused += is_refused ? 1 : 0;
    EXPECT_LE(test::largest_allocation(), most) << "allocated for a file of " << bytes.size();
    EXPECT_TRUE(!is_refused || words.size() > 10) << words;
    // Of what a reader of formats refuses, file and place are named; a wrong value of a key names the key.
    const bool names = words.find(reader.file) != std::string::npos || words.find('\'') != std::string::npos;
    EXPECT_TRUE(!is_refused || names) << words;
  };
  for (const std::string& seed : seeds) check(seed);
  EXPECT_EQ(refused, 0) << "a seed is refused";
  for (std::int64_t k = 0; k < inputs() && !HasFailure(); ++k) {
    const std::string bytes = mutator.next(seeds);
    SCOPED_TRACE(testing::Message() << "input " << k);
    try {
      check(bytes);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "neither read nor refused: " << error.what();
    }
    if (HasFailure()) {
      const fs::path kept = fs::temp_directory_path() / ("kadam-fuzz-" + reader.name);
      std::ofstream(kept, std::ios::binary) << bytes;
      ADD_FAILURE() << "the input is kept in " << kept << ": add it to tests/fuzz/corpus/" << reader.name;
    }
  }
  EXPECT_GT(refused, inputs() / 4) << "the inputs are too tame";
}

/// What was once read wrongly.
TEST_P(Readers, ReadOrRefuseTheCorpus) {
  const Reader& reader = GetParam();
  const fs::path corpus = fs::path(KADAM_FUZZ_CORPUS) / reader.name;
  if (!fs::exists(corpus)) GTEST_SKIP() << "none kept";
  const test::TemporaryFolder folder;
  for (const fs::directory_entry& entry : fs::directory_iterator(corpus)) {
    SCOPED_TRACE(entry.path());
    fs::copy_file(entry.path(), folder.path() / reader.file, fs::copy_options::overwrite_existing);
    try {
      reader.read(folder.path() / reader.file);
    } catch (const std::runtime_error&) {
    } catch (const std::invalid_argument&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Readers, testing::ValuesIn(readers()),
                         [](const auto& test_info) { return test_info.param.name; });

}  // namespace
}  // namespace kadam
