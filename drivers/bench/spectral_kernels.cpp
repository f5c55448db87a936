// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <kadam/algorithms/newton_schulz.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Muon's orthogonalised momentum of a matrix. Elements are multiplications, each with an addition.
namespace kadam::bench {
namespace {

KernelCase orthogonalise(const Vectors& vectors, std::int64_t rows, std::int64_t columns) {
  const MatrixPlace place{0, rows, columns};
  // Made when it is run for the first time: who wants one case does not hold the workspace of all.
  const auto newton_schulz = std::make_shared<std::optional<NewtonSchulz>>();
  const auto multiplications =
      static_cast<std::int64_t>(std::llround(NewtonSchulz::multiplications({place})));
  return {orthogonalise_kernel(rows, columns), 0.0, multiplications, Limit::none,
          [=, &vectors](const ExecutionSpace& exec) {
            if (!*newton_schulz) newton_schulz->emplace(exec, std::vector<MatrixPlace>{place});
            static_cast<void>((*newton_schulz)
                                  ->direction(exec, place, Ema::make(0.9), 1.0F,
                                              Numbers<MemorySpace>(vectors.gradient), vectors.m));
          }};
}

}  // namespace

std::string orthogonalise_kernel(std::int64_t rows, std::int64_t columns) {
  return "orthogonalise " + std::to_string(rows) + " x " + std::to_string(columns);
}

std::vector<KernelCase> spectral_cases(const Vectors& vectors) {
  std::vector<KernelCase> cases;
  for (const std::int64_t side : {256, 1024}) {
    for (const std::int64_t times : {1, 4}) {
      if (times * side * side > vectors.elements) continue;
      cases.push_back(orthogonalise(vectors, times * side, side));
    }
  }
  return cases;
}

}  // namespace kadam::bench
