// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of the README: every rank pulls the parameters towards its own target; they meet at the mean.
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <cstdio>

// [readme]
void minimise(MPI_Comm communicator, kadam::Vector<float> x, float target) {
  const auto d = static_cast<std::int64_t>(x.extent(0));
  const kadam::TensorLayout tensors({{"weights", 0, d}});
  const auto optimizer = kadam::make_optimizer("onebit_adam", {{"lr", 0.01}, {"warmup_steps", 100}}, tensors,
                                               kadam::make_mpi_communicator(communicator));
  const kadam::ExecutionSpace exec;
  const kadam::Vector<float> gradient("gradient", d);
  for (int step = 0; step < 1000; ++step) {
    Kokkos::parallel_for(
        "gradient", Kokkos::RangePolicy(exec, 0, d),
        KOKKOS_LAMBDA(const int i) { gradient(i) = x(i) - target; });
    optimizer->step(exec, x, gradient);
  }
  exec.fence();
}
// [readme]

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool met = false;
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const kadam::Vector<float> x("x", 1000);
    minimise(MPI_COMM_WORLD, x, static_cast<float>(rank));
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
    const float mean = 0.5F * static_cast<float>(size - 1);
    met = Kokkos::abs(host(0) - mean) < 0.05F && Kokkos::abs(host(999) - mean) < 0.05F;
    if (rank == 0)
      std::printf("x = %.4f, expected %.4f\n", static_cast<double>(host(0)), static_cast<double>(mean));
  }
  MPI_Finalize();
  return met ? 0 : 1;
}
