// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_case.hpp>
#include <bench/vectors.hpp>
#include <kadam/kernels/detail/block_loop.hpp>

namespace kadam::bench {
namespace {

/// A sum that is as fast as the memory: floats in 64 lanes, a tile at a time.
struct SumOfTile {
  static constexpr std::int64_t tile = 4096;

  Vector<const float> values;
  Vector<float> sums;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    constexpr std::int64_t width = tile;  // Kokkos::min takes a reference, which a device has not of a member
    const std::int64_t first = index * width;
    const std::int64_t count = Kokkos::min(width, static_cast<std::int64_t>(values.extent(0)) - first);
    if constexpr (Member::is_one_thread) {
      constexpr int lanes = 64;
      float partial[lanes] = {};
      std::int64_t k = 0;
      for (; k + lanes <= count; k += lanes) {
        for (int lane = 0; lane < lanes; ++lane) partial[lane] += values(first + k + lane);
      }
      for (; k < count; ++k) partial[0] += values(first + k);
      float total = 0.0F;
      for (const float value : partial) total += value;
      sums(index) = total;
    } else {
      const double total = member.sum(count, [&](const std::int64_t k) { return values(first + k); });
      member.once([&] { sums(index) = static_cast<float>(total); });
    }
  }
};

void scale(const ExecutionSpace& exec, const Vector<float>& x) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  const float factor = 0.9999999F;
  Kokkos::parallel_for(
      "kadam-bench::scale", Policy(exec, 0, static_cast<std::int64_t>(x.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { x(i) *= factor; });
}

void copy(const ExecutionSpace& exec, const Vector<const float>& from, const Vector<float>& to) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam-bench::copy", Policy(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { to(i) = from(i); });
}

}  // namespace

std::vector<KernelCase> limit_cases(const Vectors& vectors) {
  const std::int64_t d = vectors.elements;
  const std::int64_t tiles = (d + SumOfTile::tile - 1) / SumOfTile::tile;
  const Vector<float> sums("kadam-bench::sums", static_cast<std::size_t>(tiles));
  return {{update_limit_kernel, 8.0, d, Limit::update, [&](const auto& exec) { scale(exec, vectors.x); }},
          {read_limit_kernel, 4.0, d, Limit::read,
           [&, tiles, sums](const auto& exec) {
             detail::for_each_block("kadam-bench::sum", exec, 0, tiles, SumOfTile{vectors.x, sums});
           }},
          {copy_kernel,
           8.0,
           d,
           Limit::update,
           [&](const auto& exec) { copy(exec, vectors.gradient, vectors.error); },
           {}}};
}

}  // namespace kadam::bench
