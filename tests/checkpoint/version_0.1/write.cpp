// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the checkpoints beside this file: mpirun -n 2 write FOLDER. It was built with version 0.1 and is no
// part of the build; a later version gets a folder of its own, with a program like this one.
#include "run.hpp"
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/comm/mpi_communicator.hpp>

#include <mpi.h>

int main(int argc, char** argv) {
  using namespace kadam;
  int provided = 0;  // divisible_adam exchanges in a thread of its own
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    const ExecutionSpace exec;
    const auto communicator = make_mpi_communicator(MPI_COMM_WORLD);
    for (const version_0_1::Run& run : version_0_1::runs()) {
      const auto optimizer = make_optimizer(run.optimizer, run.options, version_0_1::layout(), communicator,
                                            version_0_1::groups());
      const Vector<float> x("x", version_0_1::d);
      const Vector<float> gradient("gradient", version_0_1::d);
      const auto host_x = Kokkos::create_mirror_view(x);
      const auto host_gradient = Kokkos::create_mirror_view(gradient);
      for (std::int64_t i = 0; i < version_0_1::d; ++i) host_x(i) = version_0_1::start(i);
      Kokkos::deep_copy(x, host_x);
      for (std::int64_t t = 1; t <= version_0_1::last_step; ++t) {
        Kokkos::deep_copy(host_x, x);
        for (std::int64_t i = 0; i < version_0_1::d; ++i)
          host_gradient(i) = version_0_1::gradient(i, t, communicator->rank(), host_x(i));
        Kokkos::deep_copy(gradient, host_gradient);
        optimizer->step(exec, x, gradient);
        exec.fence();
        if (t == version_0_1::first_step || t == version_0_1::last_step)
          checkpoint::save(exec, *optimizer, x, std::filesystem::path(argv[1]) / run.optimizer);
      }
    }
  }
  MPI_Finalize();
  return 0;
}
