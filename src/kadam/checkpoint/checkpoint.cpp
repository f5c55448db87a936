// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/manifest.hpp>
#include <kadam/checkpoint/state_file.hpp>
#include <kadam/io/host_file.hpp>
#include <kadam/io/safetensors.hpp>
#include <kadam/text_hash.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace kadam::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* parameters_name = "parameters.safetensors";

std::string folder_name(std::int64_t step) {
  char text[32];
  (void)std::snprintf(text, sizeof(text), "step-%012lld", static_cast<long long>(step));
  return text;
}

/// The steps of the checkpoints in a folder, the newest first.
std::vector<std::int64_t> steps_in(const fs::path& folder) {
  std::vector<std::int64_t> steps;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    long long step = 0;
    const std::string name = entry.path().filename().string();
    if (std::sscanf(name.c_str(), "step-%12lld", &step) == 1 && name == folder_name(step))
      steps.push_back(step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

/// Calls part(), which may fail on one rank alone; then throws on all ranks. Collective.
template <class Part>
void on_all(Communicator& communicator, const Part& part) {
  std::exception_ptr failure;
  try {
    part();
  } catch (const fs::filesystem_error& error) {
    failure = std::make_exception_ptr(std::runtime_error(
        error.path1().string() + ": cannot be written or removed: " + error.code().message()));
  } catch (...) {
    failure = std::current_exception();
  }
  communicator.require_success(failure);
}

/// Calls part() on rank 0; if it fails, throws on all ranks. Collective.
template <class Part>
void on_root(Communicator& communicator, const Part& part) {
  on_all(communicator, [&] {
    if (communicator.rank() == 0) part();
  });
}

std::vector<ManifestFile> gather(Communicator& communicator, const ManifestFile& own) {
  // A double holds 53 bits: enough for any file's length, not for a hash.
  constexpr std::uint64_t low = 0xffffffffU;
  const std::array<double, 3> words = {static_cast<double>(own.bytes), static_cast<double>(own.hash >> 32U),
                                       static_cast<double>(own.hash & low)};
  const std::vector<double> all = communicator.all_gather_values(words);
  std::vector<ManifestFile> files;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const double* const of_rank = &all[3 * static_cast<std::size_t>(rank)];
    const auto high = static_cast<std::uint64_t>(of_rank[1]) << 32U;
    files.push_back({state_file_name(rank, communicator.size()), static_cast<std::uint64_t>(of_rank[0]),
                     high | static_cast<std::uint64_t>(of_rank[2])});
  }
  return files;
}

ManifestFile write_parameters(const fs::path& folder, const Optimizer& optimizer,
                              const Vector<const float>& values) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, values);
  const fs::path path = folder / parameters_name;
  const std::vector<io::StoredTensor> tensors = io::stored_tensors(optimizer.layout());
  io::TensorFileWriter file(
      path, tensors, {{"optimizer", optimizer.name()}, {"step", std::to_string(optimizer.steps_taken())}});
  file.write(std::as_bytes(std::span(host.data(), host.size())));
  file.commit();
  io::detail::sync_to_disk(path);
  return {parameters_name, file.bytes_written(), file.hash()};
}

void write_manifest(const fs::path& folder, const Manifest& manifest) {
  io::detail::HostFileWriter file(folder / manifest_name);
  file.write(to_text(manifest));
  file.commit();
  io::detail::sync_to_disk(folder / manifest_name);
  io::detail::sync_to_disk(folder);
}

/// Renames partial to place. A checkpoint of the same step, which lies there, is removed.
void put_in_place(const fs::path& partial, const fs::path& place) {
  const fs::path former = place.string() + ".former";
  fs::remove_all(former);
  if (fs::exists(place)) fs::rename(place, former);
  fs::rename(partial, place);
  io::detail::sync_to_disk(place.parent_path());
  fs::remove_all(former);
}

/// Renames checkpoints of later steps. This run has gone on from an earlier step, chosen by hand or because
/// the later checkpoints are not whole: they do not count any more, but are not deleted.
void set_aside_later(const fs::path& folder, std::int64_t step) {
  for (const std::int64_t later : steps_in(folder)) {
    if (later <= step) break;
    const fs::path place = folder / folder_name(later);
    const fs::path aside = place.string() + ".set-aside";
    fs::remove_all(aside);
    fs::rename(place, aside);
  }
}

void remove_older(const fs::path& folder, int keep) {
  const std::vector<std::int64_t> steps = steps_in(folder);
  for (std::size_t k = static_cast<std::size_t>(keep); keep > 0 && k < steps.size(); ++k) {
    fs::remove_all(folder / folder_name(steps[k]));
  }
}

/// Writes state, parameters and manifest into the folder `partial`. Collective.
void write_all(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
               const fs::path& partial, const ProgramState& program) {
  Communicator& communicator = optimizer.communicator();
  on_root(communicator, [&] {
    fs::create_directories(partial.parent_path());
    fs::remove_all(partial);
    fs::create_directory(partial);
  });
  ManifestFile own;
  const StateFields state = optimizer.state_to_save(exec, parameters);
  on_all(communicator, [&] { own = write_state_file(exec, partial, optimizer, state, program); });
  Manifest manifest{optimizer.name(), optimizer.steps_taken(), communicator.size(),
                    gather(communicator, own)};
  const Vector<float> common =
      allocate<float>(exec, "kadam::checkpoint::parameters", optimizer.layout().elements());
  optimizer.write_consensus(exec, parameters, common);
  exec.fence("kadam::checkpoint::write_all");
  on_root(communicator, [&] {
    manifest.files.push_back(write_parameters(partial, optimizer, common));
    write_manifest(partial, manifest);
  });
}

/// Reads the manifest, and throws on all ranks unless the checkpoint is whole: each rank checks some of its
/// files. Collective.
Manifest require_whole(Communicator& communicator, const fs::path& path) {
  Manifest manifest;
  on_all(communicator, [&] { manifest = read_manifest(path); });
  const std::array<std::string, 1> name = {"the hash of the checkpoint's MANIFEST"};
  const std::array<std::uint64_t, 1> hash = {hash_of(to_text(manifest))};
  communicator.require_equal(name, hash, "keep checkpoints in a folder that all ranks share");
  on_all(communicator, [&] {
    const auto ranks = static_cast<std::size_t>(communicator.size());
    for (auto k = static_cast<std::size_t>(communicator.rank()); k < manifest.files.size(); k += ranks) {
      require_intact(path, manifest.files[k]);
    }
  });
  return manifest;
}

Restored restore_whole(const ExecutionSpace& exec, Optimizer& optimizer, const Parameters& parameters,
                       const fs::path& path, const Manifest& manifest) {
  Restored restored{path, 0, {}};
  on_all(optimizer.communicator(), [&] {
    StateFiles files(path, manifest, optimizer);
    optimizer.restore(exec, parameters, files);
    if (files.algorithm() == optimizer.name()) files.require_all_read();
    restored.program = files.program();
  });
  restored.step = optimizer.steps_taken();
  return restored;
}

std::string words_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

fs::path save(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
              const fs::path& folder, const ProgramState& program, int keep) {
  Communicator& communicator = optimizer.communicator();
  const std::string name = folder_name(optimizer.steps_taken());
  const fs::path partial = folder / ("." + name + ".partial");
  try {
    write_all(exec, optimizer, parameters, partial, program);
    on_root(communicator, [&] {
      put_in_place(partial, folder / name);
      set_aside_later(folder, optimizer.steps_taken());
      remove_older(folder, keep);
    });
  } catch (...) {
    std::error_code ignored;
    if (communicator.rank() == 0) fs::remove_all(partial, ignored);
    throw;
  }
  return folder / name;
}

Restored restore(const ExecutionSpace& exec, Optimizer& optimizer, const Parameters& parameters,
                 const fs::path& checkpoint) {
  const Manifest manifest = require_whole(optimizer.communicator(), checkpoint);
  return restore_whole(exec, optimizer, parameters, checkpoint, manifest);
}

std::optional<Restored> restore_newest(const ExecutionSpace& exec, Optimizer& optimizer,
                                       const Parameters& parameters, const fs::path& folder,
                                       const PassedOver& passed_over) {
  Communicator& communicator = optimizer.communicator();
  // Rank 0 says which there are: a file system may show a new one to some ranks later than to others.
  std::vector<std::int64_t> steps;
  if (communicator.rank() == 0) steps = steps_in(folder);
  const auto count_of_this_rank = static_cast<double>(steps.size());
  const auto count =
      static_cast<std::size_t>(communicator.all_gather_values({&count_of_this_rank, 1}).front());
  std::string why;
  for (std::size_t k = 0; k < count; ++k) {
    const double of_this_rank = k < steps.size() ? static_cast<double>(steps[k]) : 0.0;
    const auto step = static_cast<std::int64_t>(communicator.all_gather_values({&of_this_rank, 1}).front());
    const fs::path path = folder / folder_name(step);
    std::exception_ptr failure;
    Manifest manifest;
    try {
      manifest = require_whole(communicator, path);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure == nullptr) return restore_whole(exec, optimizer, parameters, path, manifest);
    // Throws if a rank is gone: then nothing is wrong with the checkpoint.
    (void)communicator.all_gather_values({});
    why = words_of(failure);
    if (communicator.rank() == 0 && passed_over) passed_over(path, why);
  }
  if (count == 0) return std::nullopt;
  throw std::runtime_error(folder.string() + ": none of its " + std::to_string(count) +
                           " checkpoints is whole; in the last one tried: " + why);
}

}  // namespace kadam::checkpoint
