// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <kadam/kernels/low_rank.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

/// A low-rank mean's products, over one matrix that is about square, with two columns.
namespace kadam::bench {
namespace {

constexpr std::int64_t columns_of_factors = 2;

struct OneMatrix {
  LowRankMatrices<MemorySpace> matrices;
  std::int64_t elements = 0;
  Vector<float> left;
  Vector<float> right;
  Vector<double> left_sums;
  Vector<double> right_sums;

  explicit OneMatrix(std::int64_t most) {
    LowRankMatrix matrix;
    matrix.columns = std::int64_t{1} << (std::bit_width(static_cast<std::uint64_t>(most)) / 2);
    matrix.rows = std::max(most / matrix.columns, std::int64_t{1});
    matrix.columns = std::min(matrix.columns, most);
    matrix.rank = std::min({columns_of_factors, matrix.rows, matrix.columns});
    elements = matrix.rows * matrix.columns;
    std::vector<LowRankMatrix> all = {matrix};
    const LowRankExtents extents = place_factors(all);
    matrices = LowRankMatrices<MemorySpace>::make(all, extents);
    const ExecutionSpace exec;
    left = allocate<float>(exec, "kadam-bench::left", extents.left);
    right = allocate<float>(exec, "kadam-bench::right", extents.right);
    left_sums = allocate<double>(exec, "kadam-bench::left_sums", extents.left_sums);
    right_sums = allocate<double>(exec, "kadam-bench::right_sums", extents.right_sums);
    fill(exec, left, 1.0F, 1);
    fill(exec, right, 1.0F, 2);
  }
};

}  // namespace

std::vector<KernelCase> low_rank_cases(const Vectors& vectors) {
  const OneMatrix one(vectors.elements);
  const LowRankInput<MemorySpace> input{vectors.gradient, 1.0F, vectors.error};
  return {
      {"multiply_by_right, rank 2", 8.0, one.elements, Limit::read,
       [one, input](const auto& exec) {
         multiply_by_right<ExecutionSpace, MemorySpace>(exec, one.matrices, input, one.right, one.left_sums);
       }},
      {"multiply_by_left, rank 2", 8.0, one.elements, Limit::read,
       [one, input](const auto& exec) {
         multiply_by_left<ExecutionSpace, MemorySpace>(exec, one.matrices, input, one.left, one.right_sums);
       }},
      {"subtract_low_rank, rank 2", 16.0, one.elements, Limit::update,
       [&vectors, one, input](const auto& exec) {
         subtract_low_rank<ExecutionSpace, MemorySpace>(
             exec, one.matrices, input, LowRankFactors<MemorySpace>{one.left, one.right, one.right},
             vectors.x);
       }}};
}

}  // namespace kadam::bench
