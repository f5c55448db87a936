// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/config.hpp>
#include <kadam/python/bound_optimizer.hpp>

#include <stdexcept>

#ifdef KADAM_ENABLE_CHECKPOINT
#include <kadam/checkpoint/checkpoint.hpp>
#endif

namespace kadam::python {

#ifdef KADAM_ENABLE_CHECKPOINT

namespace {

LoadedCheckpoint loaded(const checkpoint::Restored& restored) {
  return {restored.step, restored.path, restored.program};
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

#else

namespace {

[[noreturn]] void refuse_unbuilt() {
  throw std::runtime_error("this Kadam was built without checkpoints (KADAM_ENABLE_CHECKPOINT)");
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

#endif

}  // namespace kadam::python
