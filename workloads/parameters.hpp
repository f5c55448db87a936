// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <workloads/matrix.hpp>
#include <workloads/random.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>

/// Access of a model's layers to its flat vectors of parameters and gradient.
namespace kadam::workloads {

/// Fills tensors of a parameter vector; element i gets a pure function of (seed, i).
class Initialiser {
 public:
  Initialiser(const HostVector<float>& parameters, std::uint64_t seed)
      : parameters_(parameters), seed_(seed) {}

  void constant(std::int64_t offset, std::int64_t elements, float value) const {
    for (std::int64_t i = offset; i < offset + elements; ++i) {
      parameters_(static_cast<std::size_t>(i)) = value;
    }
  }

  void normal(std::int64_t offset, std::int64_t elements, double deviation) const {
    for (std::int64_t i = offset; i < offset + elements; ++i) {
      parameters_(static_cast<std::size_t>(i)) =
          static_cast<float>(deviation * random_normal(seed_, static_cast<std::uint64_t>(i)));
    }
  }

 private:
  HostVector<float> parameters_;
  std::uint64_t seed_;
};

/// Called with the range of a gradient that is final while the rest is still computed.
using GradientReady = std::function<void(ElementRange)>;

/// Memory that kernels of a backward pass use one after the other. It grows and never shrinks.
/// floats() is valid until the next call of it.
class Scratch {
 public:
  [[nodiscard]] float* floats(const ExecutionSpace& exec, std::int64_t elements) {
    if (static_cast<std::int64_t>(storage_.extent(0)) < elements) {
      storage_ = Vector<float>();
      storage_ = allocate<float>(exec, "kadam::workloads::scratch", elements);
    }
    return storage_.data();
  }

 private:
  Vector<float> storage_;
};

/// Where the layers of a model write their parts of the gradient and announce them. Lives for one backward
/// pass.
class GradientSink {
 public:
  /// `ready` may be empty. Refers to all three arguments, which must live longer.
  GradientSink(const Vector<float>& gradient, const GradientReady& ready, Scratch& scratch)
      : gradient_(gradient), ready_(ready), scratch_(scratch) {}

  /// The gradient of the tensor that begins at `offset`.
  [[nodiscard]] float* tensor(std::int64_t offset) const { return gradient_.data() + offset; }
  [[nodiscard]] Matrix<float> tensor(std::int64_t offset, std::int64_t rows, std::int64_t columns) const {
    return matrix_at(gradient_, offset, rows, columns);
  }

  [[nodiscard]] Scratch& scratch() const { return scratch_; }

  /// Call when the last kernel that writes elements of `range` is enqueued.
  void finish(ElementRange range) const {
    if (ready_) {
      ready_(range);
    }
  }

 private:
  const Vector<float>& gradient_;
  const GradientReady& ready_;
  Scratch& scratch_;
};

}  // namespace kadam::workloads
