// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/config.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/python/arguments.hpp>
#include <kadam/python/bound_optimizer.hpp>
#include <kadam/python/communicator.hpp>
#include <kadam/python/kokkos_user.hpp>
#include <kadam/version.hpp>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace kadam::python {
namespace {

std::string picture_of(const StepResult& result) {
  std::string text = "StepResult(step=" + std::to_string(result.step) + ", phase='" + result.phase + "'";
  text += ", learning_rate=" + std::to_string(result.learning_rate);
  text += ", gradient_norm=" + std::to_string(result.gradient_norm);
  if (result.skipped) text += ", skipped=True";
  if (!result.synchronised) text += ", synchronised=False";
  if (result.raised != 0) text += ", raised=" + std::to_string(result.raised);
  if (result.skipped_alone > 0) text += ", skipped_alone=" + std::to_string(result.skipped_alone);
  return text + ")";
}

/// What calls return.
void bind_results(nb::module_& module) {
  nb::class_<StepResult>(module, "StepResult", "The result of a step.")
      .def_ro("step", &StepResult::step, "Steps taken so far; a skipped step does not count.")
      .def_ro("skipped", &StepResult::skipped,
              "A gradient was NaN or infinite on some rank: nothing was changed anywhere.")
      .def_prop_ro(
          "phase", [](const StepResult& result) { return result.phase; },
          "The kind of step: 'dense', 'warm-up', 'compressed' ...")
      .def_ro("synchronised", &StepResult::synchronised,
              "Parameters are equal on all ranks now; a skipped step leaves this as it was.")
      .def_ro("learning_rate", &StepResult::learning_rate, "Of this step; a skipped step would have had it.")
      .def_ro(
          "gradient_norm", &StepResult::gradient_norm,
          "Root mean square of the ranks' gradient norms, before clipping; with local_adam and local_muon\n"
          "by default the norm of this rank's own gradient.")
      .def_ro("gradient_scale", &StepResult::gradient_scale, "Factor that clipping put on the gradient.")
      .def_ro("raised", &StepResult::raised, "Bits given to raise_bits() on any rank: the same on all.")
      .def_ro(
          "skipped_alone", &StepResult::skipped_alone,
          "In the last step of a round of local_adam and local_muon: the steps that ranks skipped alone in "
          "the\n"
          "round, summed over all ranks, plus 1 if all ranks dropped the round; else 0. Such a step counts.\n"
          "The same on all ranks.")
      .def("__repr__", &picture_of);
  nb::class_<LoadedCheckpoint>(module, "Restored", "A checkpoint from which an optimizer goes on.")
      .def_ro("step", &LoadedCheckpoint::step, "Steps that the optimizer has taken.")
      .def_ro("path", &LoadedCheckpoint::path)
      .def_ro("words", &LoadedCheckpoint::words, "The words that save() was given.");
  nb::class_<RestoredSnapshot>(module, "RestoredSnapshot", "A snapshot from which an optimizer goes on.")
      .def_ro("step", &RestoredSnapshot::step, "Steps that the optimizer has taken.")
      .def_ro("words", &RestoredSnapshot::words, "The words that after_step() or keep_snapshots() was given.")
      .def_ro("lost", &RestoredSnapshot::lost, "Ranks that took part in the snapshot and are lost.");
}

/// Both are a RuntimeError.
void bind_errors(nb::module_& module) {
  nb::exception<PeerFailure>(module, "PeerFailure", PyExc_RuntimeError).attr("__doc__") =
      "Another rank has failed, or has not answered in time.";
#ifdef KADAM_ENABLE_CHECKPOINT
  nb::exception<checkpoint::SnapshotLost>(module, "SnapshotLost", PyExc_RuntimeError).attr("__doc__") =
      "No snapshot is whole: a rank has failed together with the one that kept its part.";
#else
  module.attr("SnapshotLost") = nb::handle(PyExc_RuntimeError);
#endif
}

nb::dict build() {
  nb::dict all;
  all["kokkos"] = std::to_string(KOKKOS_VERSION / 10000) + '.' + std::to_string(KOKKOS_VERSION / 100 % 100) +
                  '.' + std::to_string(KOKKOS_VERSION % 100);
  all["compiler"] = KADAM_COMPILER;
  all["type"] = KADAM_BUILD_TYPE;
  return all;
}

/// For kadam.doctor: what was built, and what runs.
void bind_surroundings(nb::module_& module) {
  module.def("build", &build, nb::sig("def build() -> dict[str, str]"),
             "What the compiled part was built with: 'kokkos', 'compiler', 'type'.");
  module.def("mpi_library", &mpi_library,
             "The name and version of Kadam's MPI library; None if Kadam was built without MPI.");
  module.def("mpi_was_initialised", &mpi_was_initialised,
             "Whether that library was initialised. If mpi4py uses the same library, mpi4py has done so.");
  module.def("host_threads", &host_threads, "The number of threads of kernels on the host. Starts Kokkos.");
}

}  // namespace
}  // namespace kadam::python

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_kadam, module) {
  // Python ends with objects alive; Kadam lets go of what matters before.
  nb::set_leak_warnings(false);
  module.doc() = "The compiled part of kadam.";
  module.attr("__version__") = KADAM_VERSION_STRING;
  kadam::python::bind_errors(module);
  kadam::python::bind_results(module);
  kadam::python::bind_optimizer(module);
  kadam::python::bind_surroundings(module);
  module.def(
      "execution_space", [] { return std::string(kadam::ExecutionSpace::name()); },
      "Kokkos' name of the place where kernels run: 'OpenMP', 'Cuda', 'HIP', 'Serial'.");
  module.def("optimizers", &kadam::optimizer_names, "The names that Optimizer takes.");
  module.def(
      "options",
      [](std::string_view optimizer) {
        nb::dict all;
        for (const kadam::OptionHelp& option : kadam::optimizer_options(optimizer)) {
          all[option.name.c_str()] = nb::make_tuple(kadam::python::to_python(option.value), option.help);
        }
        return all;
      },
      "optimizer"_a, nb::sig("def options(optimizer: str) -> dict[str, tuple[object, str]]"),
      "The options of an optimizer: their defaults and meanings. Raises ValueError for an unknown name.");
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&kadam::python::end_kokkos));
}
