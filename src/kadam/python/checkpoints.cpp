// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/socket_communicator.hpp>
#include <kadam/config.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/python/bound_optimizer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <stdexcept>
#include <utility>
#include <vector>

#ifdef KADAM_ENABLE_CHECKPOINT
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/memory_state.hpp>
#endif

namespace kadam::python {

#ifdef KADAM_ENABLE_CHECKPOINT

namespace {

LoadedCheckpoint loaded(const checkpoint::Restored& restored) {
  return {restored.step, restored.path, restored.program};
}

using ByteArray = nb::ndarray<const std::uint8_t, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object array_that_owns(std::vector<std::byte> bytes) {
  auto kept = std::make_unique<std::vector<std::byte>>(std::move(bytes));
  auto* const data = reinterpret_cast<std::uint8_t*>(kept->data());
  const std::size_t size = kept->size();
  const nb::capsule owner(kept.release(), [](void* vector) noexcept {
    const std::unique_ptr<std::vector<std::byte>> gone(static_cast<std::vector<std::byte>*>(vector));
  });
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(data, {size}, owner));
}

void warn(const std::string& text) {
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) throw nb::python_error();
}

}  // namespace

std::filesystem::path BoundOptimizer::save(nb::handle x, const std::filesystem::path& folder, int keep,
                                           const Words& words, nb::object stream) {
  if (keep < 0) {
    throw std::invalid_argument("keep: expected 0 (all) or more checkpoints, got " + std::to_string(keep));
  }
  const OnStream where = on(std::move(stream));
  const ReadParameters parameters("x", x, elements(), where.handle);
  return alone_on(where, [&](Optimizer& optimizer, const ExecutionSpace& exec, ArrayCopies& copies) {
    return checkpoint::save(exec, optimizer, parameters.in(exec, copies), folder, words, keep);
  });
}

LoadedCheckpoint BoundOptimizer::load(nb::handle x, const std::filesystem::path& path, nb::handle model,
                                      nb::object stream) {
  const OnStream where = on(std::move(stream));
  const ParameterArrays parameters("x", x, model, elements(), where.handle);
  return alone_on(where, [&](Optimizer& optimizer, const ExecutionSpace& exec, ArrayCopies& copies) {
    const Parameters own = parameters.in(exec, copies);
    const checkpoint::Restored restored = checkpoint::restore(exec, optimizer, own, path);
    parameters.give_back(exec, copies, own);
    return loaded(restored);
  });
}

std::optional<LoadedCheckpoint> BoundOptimizer::load_newest(nb::handle x, const std::filesystem::path& folder,
                                                            nb::handle model, nb::object stream) {
  const OnStream where = on(std::move(stream));
  const ParameterArrays parameters("x", x, model, elements(), where.handle);
  std::vector<std::string> passed_over;
  const auto remember = [&](const std::filesystem::path& path, const std::string& why) {
    passed_over.push_back("the checkpoint " + path.string() + " is not whole and was passed over: " + why);
  };
  const auto read = [&](Optimizer& optimizer, const ExecutionSpace& exec,
                        ArrayCopies& copies) -> std::optional<LoadedCheckpoint> {
    const Parameters own = parameters.in(exec, copies);
    const auto newest = checkpoint::restore_newest(exec, optimizer, own, folder, remember);
    if (!newest) return std::nullopt;
    parameters.give_back(exec, copies, own);
    return loaded(*newest);
  };
  const auto restored = alone_on(where, read);
  for (const std::string& text : passed_over) warn(text);
  return restored;
}

nb::tuple BoundOptimizer::state(nb::handle x, nb::object stream) {
  const OnStream where = on(std::move(stream));
  const ReadParameters parameters("x", x, elements(), where.handle);
  checkpoint::MemoryState state =
      alone_on(where, [&](Optimizer& optimizer, const ExecutionSpace& exec, ArrayCopies& copies) {
        return checkpoint::save_in_memory(exec, optimizer, parameters.in(exec, copies));
      });
  nb::dict vectors;
  for (auto& [name, bytes] : state.vectors) vectors[name.c_str()] = array_that_owns(std::move(bytes));
  return nb::make_tuple(state.words, vectors);
}

void BoundOptimizer::set_state(nb::handle x, const Words& words, const nb::dict& vectors, nb::handle model,
                               nb::object stream) {
  const OnStream where = on(std::move(stream));
  const ParameterArrays parameters("x", x, model, elements(), where.handle);
  checkpoint::MemoryState state{words, {}};
  for (const auto& [name, array] : vectors) {
    ByteArray bytes;
    if (!nb::try_cast(array, bytes, false))
      throw std::invalid_argument("vectors: expected arrays of uint8 on the host, as state() returns them");
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
    state.vectors[nb::cast<std::string>(name)].assign(first, first + bytes.size());
  }
  alone_on(where, [&](Optimizer& optimizer, const ExecutionSpace& exec, ArrayCopies& copies) {
    const Parameters own = parameters.in(exec, copies);
    checkpoint::restore_from_memory(exec, optimizer, own, state);
    parameters.give_back(exec, copies, own);
  });
}

void BoundOptimizer::keep_snapshots(nb::handle x, std::int64_t every, std::int64_t spread, const Words& words,
                                    nb::object stream) {
  const OnStream where = on(std::move(stream));
  const ReadParameters parameters("x", x, elements(), where.handle);
  alone_on(where, [&](Optimizer& optimizer, const ExecutionSpace& exec, ArrayCopies& copies) {
    snapshots_.emplace(optimizer, checkpoint::SnapshotOptions{every, spread});
    snapshots_->take(exec, optimizer, parameters.in(exec, copies), words);
  });
}

void BoundOptimizer::after_step(nb::handle x, const Words& words, nb::object stream) {
  if (!snapshots_) return;
  const OnStream where = on(std::move(stream));
  const ReadParameters parameters("x", x, elements(), where.handle);
  alone_on(where, [&](Optimizer& optimizer, const ExecutionSpace& exec, ArrayCopies& copies) {
    if (snapshots_->is_due(optimizer.steps_taken())) {
      snapshots_->after_step(exec, optimizer, parameters.in(exec, copies), words);
    } else {
      snapshots_->after_step();
    }
  });
}

RestoredSnapshot BoundOptimizer::go_on(nb::handle x, nb::handle model, nb::object stream) {
  if (!snapshots_)
    throw checkpoint::SnapshotLost("go_on(): no snapshots are kept: call keep_snapshots() first");
  const OnStream where = on(std::move(stream));
  const ParameterArrays parameters("x", x, model, elements(), where.handle);
  announced_.reset();
  return alone_on(where, [&](Optimizer& failed, const ExecutionSpace& exec, ArrayCopies& copies) {
    const Parameters own = parameters.in(exec, copies);
    const checkpoint::Snapshots::Restored restored = snapshots_->go_on(exec, failed, own, maker());
    parameters.give_back(exec, copies, own);
    return RestoredSnapshot{restored.step, restored.program, restored.lost};
  });
}

std::function<Optimizer&(std::shared_ptr<Communicator>)> BoundOptimizer::maker() {
  return [this](const std::shared_ptr<Communicator>& ranks) -> Optimizer& {
    optimizer_ = make_optimizer(name_, options_, optimizer_->layout(), ranks, groups_);
    return *optimizer_;
  };
}

bool BoundOptimizer::has_newcomers() const {
  return snapshots_ && snapshots_->has_newcomers();
}

std::optional<RestoredSnapshot> BoundOptimizer::admit(nb::handle x, const Words& words, nb::handle model,
                                                      nb::object stream) {
  if (!snapshots_)
    throw checkpoint::SnapshotLost("admit(): no snapshots are kept: call keep_snapshots() first");
  const OnStream where = on(std::move(stream));
  const ParameterArrays parameters("x", x, model, elements(), where.handle);
  announced_.reset();
  return alone_on(where, [&](Optimizer& before, const ExecutionSpace& exec, ArrayCopies& copies) {
    const Parameters own = parameters.in(exec, copies);
    const auto restored = snapshots_->admit(exec, before, own, words, maker());
    if (!restored) return std::optional<RestoredSnapshot>();
    parameters.give_back(exec, copies, own);
    return std::optional(RestoredSnapshot{restored->step, restored->program, restored->lost});
  });
}

RestoredSnapshot BoundOptimizer::join(nb::handle x, const std::vector<std::string>& doors, std::int64_t every,
                                      std::int64_t spread, const std::string& host, nb::handle model,
                                      nb::object stream) {
  const OnStream where = on(std::move(stream));
  const ParameterArrays parameters("x", x, model, elements(), where.handle);
  announced_.reset();
  return alone_on(where, [&](Optimizer& alone, const ExecutionSpace& exec, ArrayCopies& copies) {
    const Parameters own = parameters.in(exec, copies);
    snapshots_.emplace(checkpoint::SnapshotOptions{every, spread});
    try {
      SocketOptions tcp;
      tcp.exchange = exchange_;
      tcp.host = host;
      std::shared_ptr<Communicator> joined = join_socket_communicator(doors, snapshots_->kind_of(alone), tcp);
      const auto restored = snapshots_->restore_on(exec, std::move(joined), own, maker());
      parameters.give_back(exec, copies, own);
      return RestoredSnapshot{restored.step, restored.program, restored.lost};
    } catch (...) {
      snapshots_.reset();
      throw;
    }
  });
}

#else

namespace {

[[noreturn]] void refuse_unbuilt() {
  throw std::runtime_error(
      "this Kadam was built without checkpoints: build it with KADAM_ENABLE_CHECKPOINT=ON");
}

}  // namespace

std::filesystem::path BoundOptimizer::save(nb::handle /*x*/, const std::filesystem::path& /*folder*/,
                                           int /*keep*/, const Words& /*words*/, nb::object /*stream*/) {
  refuse_unbuilt();
}

LoadedCheckpoint BoundOptimizer::load(nb::handle /*x*/, const std::filesystem::path& /*path*/,
                                      nb::handle /*model*/, nb::object /*stream*/) {
  refuse_unbuilt();
}

std::optional<LoadedCheckpoint> BoundOptimizer::load_newest(nb::handle /*x*/,
                                                            const std::filesystem::path& /*folder*/,
                                                            nb::handle /*model*/, nb::object /*stream*/) {
  refuse_unbuilt();
}

void BoundOptimizer::keep_snapshots(nb::handle /*x*/, std::int64_t /*every*/, std::int64_t /*spread*/,
                                    const Words& /*words*/, nb::object /*stream*/) {
  refuse_unbuilt();
}

void BoundOptimizer::after_step(nb::handle /*x*/, const Words& /*words*/, nb::object /*stream*/) {}

RestoredSnapshot BoundOptimizer::go_on(nb::handle /*x*/, nb::handle /*model*/, nb::object /*stream*/) {
  refuse_unbuilt();
}

bool BoundOptimizer::has_newcomers() const {
  return false;
}

std::optional<RestoredSnapshot> BoundOptimizer::admit(nb::handle /*x*/, const Words& /*words*/,
                                                      nb::handle /*model*/, nb::object /*stream*/) {
  refuse_unbuilt();
}

RestoredSnapshot BoundOptimizer::join(nb::handle /*x*/, const std::vector<std::string>& /*doors*/,
                                      std::int64_t /*every*/, std::int64_t /*spread*/,
                                      const std::string& /*host*/, nb::handle /*model*/,
                                      nb::object /*stream*/) {
  refuse_unbuilt();
}

nb::tuple BoundOptimizer::state(nb::handle /*x*/, nb::object /*stream*/) {
  refuse_unbuilt();
}

void BoundOptimizer::set_state(nb::handle /*x*/, const Words& /*words*/, const nb::dict& /*vectors*/,
                               nb::handle /*model*/, nb::object /*stream*/) {
  refuse_unbuilt();
}

#endif

}  // namespace kadam::python
