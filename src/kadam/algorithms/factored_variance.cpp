// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/factored_variance.hpp>
#include <kadam/kernels/factored_variance.hpp>

#include <cstddef>
#include <string>

namespace kadam {
namespace {

std::vector<VarianceShape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<VarianceShape> shapes;
  for (const Tensor& tensor : tensors) {
    if (tensor.is_matrix()) {
      shapes.push_back({tensor.begin, tensor.rows(), tensor.columns()});
    } else if (tensor.elements() > 0) {
      shapes.push_back({tensor.begin, tensor.elements(), 1});
    }
  }
  return shapes;
}

}  // namespace

void add_variance(OptionFields& fields, Variance& variance) {
  fields.add_choice<Variance>("variance", variance,
                              {{"own", Variance::own}, {"factored", Variance::factored}},
                              "own: a full variance on each rank; factored: for a matrix, one number for "
                              "each row and column, averaged over the ranks from time to time");
}

FactoredVariance::FactoredVariance(const ExecutionSpace& exec, const std::vector<Tensor>& tensors,
                                   Communicator& communicator)
    : factors_(VarianceFactors<MemorySpace>::make<ExecutionSpace>(shapes_of(tensors))),
      shapes_(shapes_of(tensors)),
      mean_(exec, communicator, VarianceFactors<MemorySpace>::value_count(shapes_)) {}

void FactoredVariance::update(const ExecutionSpace& exec, const Gradient& gradient, const Ema& second,
                              float gradient_scale) const {
  update_variance(exec, factors_, second, gradient_scale, gradient);
}

void FactoredVariance::average(const ExecutionSpace& exec, Phases& phases) {
  if (mean_.layout().ranks() == 1) return;
  Kokkos::deep_copy(exec, factors_.values, mean_(exec, phases, factors_.values));
  find_row_means(exec, factors_);
}

void FactoredVariance::describe_state(StateFields& fields) const {
  const auto add = [&](const std::string& name, std::int64_t begin, std::int64_t end) {
    if (begin < end)
      fields.of_each_rank(name, Kokkos::subview(factors_.values, Kokkos::make_pair(begin, end)));
  };
  const std::int64_t matrices = factors_.rows + factors_.columns;
  add("variance_rows", 0, factors_.rows);
  add("variance_columns", factors_.rows, matrices);
  add("variance_others", matrices, static_cast<std::int64_t>(factors_.values.extent(0)));
}

/// The elements of a matrix add up to sum(R) sum(C) / mean(R) = rows sum(C).
double FactoredVariance::sum(const ExecutionSpace& exec) const {
  const auto values = Kokkos::create_mirror_view(factors_.values);
  Kokkos::deep_copy(exec, values, factors_.values);
  exec.fence("kadam::FactoredVariance::sum");
  double sum = 0.0;
  auto column = static_cast<std::size_t>(factors_.rows);
  auto other = static_cast<std::size_t>(factors_.rows + factors_.columns);
  for (const VarianceShape& shape : shapes_) {
    if (!shape.is_matrix()) {
      for (std::int64_t i = 0; i < shape.elements(); ++i) sum += static_cast<double>(values(other++));
      continue;
    }
    double of_columns = 0.0;
    for (std::int64_t k = 0; k < shape.columns; ++k) of_columns += static_cast<double>(values(column++));
    sum += static_cast<double>(shape.rows) * of_columns;
  }
  return sum;
}

Cost FactoredVariance::cost(const std::vector<Tensor>& tensors, const Arrangement& ranks,
                            std::int64_t threads) {
  using Factors = VarianceFactors<MemorySpace>;
  const std::vector<VarianceShape> shapes = shapes_of(tensors);
  const std::int64_t values = Factors::value_count(shapes);
  Cost cost = DenseMeanLayout(ranks, values).cost();
  cost.memory.state_bytes += sizeof(float) * static_cast<std::size_t>(values);
  cost.memory.workspace_bytes += Factors::workspace_bytes(shapes, threads == 0);
  return cost;
}

std::vector<Work> FactoredVariance::work_of_average(const std::vector<Tensor>& tensors) {
  const auto values = static_cast<double>(VarianceFactors<MemorySpace>::value_count(shapes_of(tensors)));
  return {{cost::copy, values}, {cost::scale, 2.0 * values}};
}

}  // namespace kadam
