// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/low_rank_mean.hpp>
#include <kadam/kernels/step_ahead.hpp>

#include <algorithm>

namespace kadam {
namespace {

/// f(i) = s G(i) + e(i). This delivers the error of a tensor that was compressed and is kept dense now.
struct WithError {
  LowRankInput<MemorySpace> input;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(const std::int64_t i) const {
    return input.scale * input.gradient(i) + input.error(i);
  }
};

/// mean(i) <- value;  error(i) <- 0
struct WriteExactMean {
  Vector<float> mean;
  Vector<float> error;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float value) const {
    mean(i) = value;
    error(i) = 0.0F;
  }
};

bool holds(const std::vector<ElementRange>& ranges, const ElementRange& range) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const ElementRange& one) {
    return one.begin <= range.begin && range.end <= one.end;
  });
}

/// of(matrix, c) for each column c of the factors of these matrices.
template <class T, class Of>
std::vector<T> of_columns(const std::vector<LowRankMatrix>& matrices, const Of& of) {
  std::vector<T> all;
  for (const LowRankMatrix& matrix : matrices) {
    for (std::int64_t c = 0; c < matrix.rank; ++c) all.push_back(of(matrix, c));
  }
  return all;
}

}  // namespace

LowRankMeanLayout::LowRankMeanLayout(const Arrangement& ranks, const LowRankOptions& options,
                                     const TensorLayout& layout, const std::vector<ElementRange>& dense)
    : ranks_(ranks), quantiser_(make_factor_quantiser(options.factor_bits)), elements_(layout.elements()) {
  ElementSet others;
  for (std::size_t k = 0; k < layout.tensors().size(); ++k) {
    const Tensor& tensor = layout.tensors()[k];
    const ElementRange range{tensor.begin, tensor.end};
    const std::int64_t rank = std::min({options.rank, tensor.rows(), tensor.columns()});
    if (!tensor.is_matrix() || holds(dense, range)) {
      others.add(range);
      if (tensor.is_matrix()) q_elements_ += rank * tensor.columns();
      continue;
    }
    LowRankMatrix matrix;
    matrix.begin = tensor.begin;
    matrix.rows = tensor.rows();
    matrix.columns = tensor.columns();
    matrix.rank = rank;
    matrix.tensor = static_cast<std::int64_t>(k);
    matrix.q = q_elements_;
    q_elements_ += rank * matrix.columns;
    matrices_.push_back(matrix);
  }
  others_ = others.ranges();
  extents_ = place_factors(matrices_);
}

std::vector<std::int64_t> LowRankMeanLayout::left_columns() const {
  return of_columns<std::int64_t>(matrices_, [](const LowRankMatrix& m, std::int64_t) { return m.rows; });
}

std::vector<std::int64_t> LowRankMeanLayout::right_columns() const {
  return of_columns<std::int64_t>(matrices_, [](const LowRankMatrix& m, std::int64_t) { return m.columns; });
}

std::vector<FactorParts> LowRankMeanLayout::left_parts() const {
  return of_columns<FactorParts>(matrices_, [](const LowRankMatrix& m, std::int64_t c) {
    return FactorParts{m.left_sums + c * m.rows, m.rank * m.rows, m.left_parts()};
  });
}

std::vector<FactorParts> LowRankMeanLayout::right_parts() const {
  return of_columns<FactorParts>(matrices_, [](const LowRankMatrix& m, std::int64_t c) {
    return FactorParts{m.right_sums + c * m.columns, m.rank * m.columns, m.right_parts()};
  });
}

Cost LowRankMeanLayout::cost() const {
  Cost cost;
  const auto d = static_cast<std::size_t>(elements_);
  if (!compresses()) {
    cost.work = {{cost::copy, static_cast<double>(elements_)}};
    cost.memory.workspace_bytes = sizeof(float) * d;
    return cost;
  }
  const Cost others = dense_subset_cost(ranks_, others_);
  const Cost left = FactorMeanLayout(ranks_, quantiser_, left_columns()).cost();
  const Cost right = FactorMeanLayout(ranks_, quantiser_, right_columns()).cost();
  for (const Cost& part : {left, right, others}) {
    cost.transfers.insert(cost.transfers.end(), part.transfers.begin(), part.transfers.end());
    cost.work.insert(cost.work.end(), part.work.begin(), part.work.end());
    cost.memory += part.memory;
  }
  double compressed = 0.0;
  for (const LowRankMatrix& matrix : matrices_) {
    compressed += static_cast<double>(matrix.rows) * static_cast<double>(matrix.columns);
  }
  cost.work.push_back({cost::multiply_by_right, compressed});
  cost.work.push_back({cost::multiply_by_left, compressed});
  cost.work.push_back({cost::subtract_low_rank, compressed});
  const auto bytes = [](std::size_t size, std::int64_t count) {
    return size * static_cast<std::size_t>(count);
  };
  cost.memory.state_bytes += sizeof(float) * d + bytes(sizeof(float), q_elements_);
  cost.memory.workspace_bytes +=
      sizeof(float) * d + bytes(sizeof(float), extents_.left + 2 * extents_.right) +
      bytes(sizeof(double), extents_.left + extents_.left_sums + extents_.right_sums) +
      bytes(sizeof(LowRankMatrix), static_cast<std::int64_t>(matrices_.size()));
  return cost;
}

LowRankMean::LowRankMean(const ExecutionSpace& exec, const LowRankOptions& options,
                         Communicator& communicator, const TensorLayout& layout,
                         const std::vector<ElementRange>& dense)
    : layout_(communicator.arrangement(), options, layout, dense), seed_(options.seed) {
  mean_ = allocate_zeros<float>(exec, "kadam::LowRankMean::mean", layout_.elements());
  if (!layout_.compresses()) return;
  const LowRankExtents& extents = layout_.extents();
  others_ = DenseSubset(exec, communicator, layout_.others());
  error_ = allocate_zeros<float>(exec, "kadam::LowRankMean::error", layout_.elements());
  q_ = allocate_zeros<float>(exec, "kadam::LowRankMean::q", layout_.q_elements());
  if (layout_.matrices().empty()) return;
  matrices_ = LowRankMatrices<MemorySpace>::make(layout_.matrices(), extents);
  left_mean_ =
      FactorMean(exec, layout_.quantiser(), communicator, layout_.left_columns(), layout_.left_parts());
  right_mean_ =
      FactorMean(exec, layout_.quantiser(), communicator, layout_.right_columns(), layout_.right_parts());
  left_ = allocate<float>(exec, "kadam::LowRankMean::left", extents.left);
  right_ = allocate<float>(exec, "kadam::LowRankMean::right", extents.right);
  taken_ = allocate<float>(exec, "kadam::LowRankMean::taken", extents.right);
  left_sums_ = allocate<double>(exec, "kadam::LowRankMean::left_sums", extents.left_sums);
  right_sums_ = allocate<double>(exec, "kadam::LowRankMean::right_sums", extents.right_sums);
  work_ = allocate<double>(exec, "kadam::LowRankMean::work", extents.left);
  seed_zero_columns(exec, matrices_, seed_, q_);
}

Vector<const float> LowRankMean::operator()(const ExecutionSpace& exec, Phases& phases,
                                            const Numbers<MemorySpace>& gradient, float scale) {
  if (!layout_.compresses()) {
    const auto scope = phases.enter(exec, Phase::encode);
    scale_numbers(exec, scale, gradient, mean_);
    if (owed_.extent(0) > 0) deliver_owed(exec);
    return mean_;
  }
  const LowRankInput<MemorySpace> input{gradient, scale, error_};
  if (!layout_.matrices().empty()) exchange_matrices(exec, phases, input);
  if (!layout_.others().empty()) exchange_others(exec, phases, input);
  return mean_;
}

void LowRankMean::exchange_matrices(const ExecutionSpace& exec, Phases& phases,
                                    const LowRankInput<MemorySpace>& input) {
  {
    const auto scope = phases.enter(exec, Phase::encode);
    multiply_by_right<ExecutionSpace, MemorySpace>(exec, matrices_, input, q_, left_sums_);
  }
  left_mean_(exec, phases, left_sums_, left_, left_, FactorMean::Loss::forgotten);
  {
    const auto scope = phases.enter(exec, Phase::encode);
    orthonormalise(exec, matrices_, left_, work_);
    multiply_by_left<ExecutionSpace, MemorySpace>(exec, matrices_, input, left_, right_sums_);
  }
  right_mean_(exec, phases, right_sums_, taken_, right_, FactorMean::Loss::kept);
  const auto scope = phases.enter(exec, Phase::decode);
  subtract_low_rank(exec, matrices_, input, LowRankFactors<MemorySpace>{left_, right_, taken_}, mean_);
  take_columns<ExecutionSpace, MemorySpace>(exec, matrices_, seed_, right_, q_);
}

void LowRankMean::exchange_others(const ExecutionSpace& exec, Phases& phases,
                                  const LowRankInput<MemorySpace>& input) {
  others_.exchange(exec, phases, WithError{input});
  const auto scope = phases.enter(exec, Phase::decode);
  others_.decode(exec, WriteExactMean{mean_, error_});
}

/// mean <- mean + e;  e <- 0
void LowRankMean::deliver_owed(const ExecutionSpace& exec) {
  step_ahead<ExecutionSpace, MemorySpace>(exec, -1.0F, mean_, owed_, mean_);
  exec.fence("kadam::LowRankMean::deliver_owed");
  owed_ = {};
}

double LowRankMean::squared_error(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const {
  if (!layout_.compresses()) return 0.0;
  return ordered_sum(exec, layout_.elements(), SquareOf<MemorySpace>{error_}, space);
}

void LowRankMean::describe_state(const ExecutionSpace& exec, StateFields& fields) const {
  using IfMissing = StateVector::IfMissing;
  const std::int64_t d = layout_.elements();
  if (!layout_.compresses()) {
    const Vector<float> owed = fields.saves() ? owed_ : allocate<float>(exec, "kadam::LowRankMean::owed", d);
    if (owed.extent(0) > 0) fields.vector("error", owed, {d, {0, d}, 1, 0}, IfMissing::zero);
    fields.not_needed("q");
    return;
  }
  fields.of_each_rank("error", error_, IfMissing::zero);
  fields.equal("q", q_, IfMissing::zero);
}

void LowRankMean::adopt_state(const ExecutionSpace& exec, const StateFields& fields) {
  if (!layout_.compresses()) {
    owed_ = fields.vector("error");
  } else if (!layout_.matrices().empty()) {
    seed_zero_columns(exec, matrices_, seed_, q_);  // what a state of one rank does not hold
  }
}

}  // namespace kadam
