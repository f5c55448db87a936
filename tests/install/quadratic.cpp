// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Minimises |x - 1|^2 with the installed library, on one rank, without MPI_Init.
#include <kadam/comm/communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/version.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>

int main(int argc, char* argv[]) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  constexpr std::int64_t elements = 1000;

  kadam::TensorLayoutBuilder layout;
  layout.add("x", elements);
  const auto optimizer =
      kadam::make_optimizer("adam", {{"lr", 0.1}}, layout.build(), kadam::Communicator::self());

  const kadam::ExecutionSpace exec;
  const auto x = kadam::allocate_zeros<float>(exec, "x", elements);
  const auto gradient = kadam::allocate_zeros<float>(exec, "gradient", elements);
  for (int step = 0; step < 300; ++step) {
    Kokkos::parallel_for(
        "gradient", Kokkos::RangePolicy<kadam::ExecutionSpace>(exec, 0, elements),
        KOKKOS_LAMBDA(const std::int64_t i) { gradient(i) = 2.0F * (x(i) - 1.0F); });
    optimizer->step(exec, x, gradient);
  }
  exec.fence("quadratic");

  const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  std::printf("Kadam %s: x = %.4f\n", KADAM_VERSION_STRING, static_cast<double>(result(0)));
  return std::fabs(result(0) - 1.0F) < 0.01F ? 0 : 1;
}
