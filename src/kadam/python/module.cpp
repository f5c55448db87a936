// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/python/arguments.hpp>
#include <kadam/python/bindings.hpp>
#include <kadam/python/kokkos_user.hpp>
#include <kadam/version.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(kadam, module) {
  // Python ends with objects alive; Kadam lets go of what matters before.
  nb::set_leak_warnings(false);
  module.doc() =
      "Adam optimizers for data-parallel training over MPI that send a fraction of a gradient.\n\n"
      "Optimizer is all there is; docs/embedding.md shows it at work.";
  module.attr("__version__") = KADAM_VERSION_STRING;
  kadam::python::bind_results(module);
  kadam::python::bind_optimizer(module);
  module.def(
      "execution_space", [] { return std::string(kadam::ExecutionSpace::name()); },
      "Where kernels run, as Kokkos names it: 'OpenMP', 'Cuda', 'HIP', 'Serial'.");
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
      "The options of an optimizer: their defaults, and what they are. ValueError for an unknown name.");
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&kadam::python::end_kokkos));
}
