// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/tensors.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam::reference {

/// The variance of one rank's gradients; of a matrix only one number per row and per column is kept. Nothing
/// of Kadam is used here.
struct FactoredVariance {
  /// Factors of one tensor. A matrix has R in `rows` and C in `columns`; others have v in `rows`.
  struct Factors {
    std::int64_t begin;
    std::size_t row_count;
    std::size_t column_count;
    std::vector<float> rows;
    std::vector<float> columns;

    [[nodiscard]] bool is_matrix() const { return row_count >= 2 && column_count >= 2; }
  };

  std::vector<Factors> tensors;

  explicit FactoredVariance(const std::vector<Tensor>& all) {
    for (const Tensor& tensor : all) {
      const auto length = static_cast<std::size_t>(tensor.end - tensor.begin);
      const auto rows = static_cast<std::size_t>(tensor.rows());
      const std::size_t columns = rows == 0 ? 0 : length / rows;
      Factors factors{tensor.begin, rows, columns, {}, {}};
      factors.rows.assign(factors.is_matrix() ? rows : length, 0.0F);
      factors.columns.assign(factors.is_matrix() ? columns : 0, 0.0F);
      tensors.push_back(factors);
    }
  }

  void update(const std::vector<float>& gradient, double beta2) {
    const auto ema = [&](float old, double value) {
      return static_cast<float>(beta2) * old + static_cast<float>(1.0 - beta2) * static_cast<float>(value);
    };
    for (Factors& factors : tensors) {
      const float* g = gradient.data() + factors.begin;
      if (!factors.is_matrix()) {
        for (std::size_t i = 0; i < factors.rows.size(); ++i)
          factors.rows[i] = ema(factors.rows[i], g[i] * g[i]);
        continue;
      }
      std::vector<double> of_rows(factors.row_count, 0.0);
      std::vector<double> of_columns(factors.column_count, 0.0);
      for (std::size_t j = 0; j < factors.row_count; ++j) {
        for (std::size_t k = 0; k < factors.column_count; ++k) {
          const double value = g[j * factors.column_count + k];
          of_rows[j] += value * value / static_cast<double>(factors.column_count);
          of_columns[k] += value * value / static_cast<double>(factors.row_count);
        }
      }
      for (std::size_t j = 0; j < of_rows.size(); ++j) factors.rows[j] = ema(factors.rows[j], of_rows[j]);
      for (std::size_t k = 0; k < of_columns.size(); ++k)
        factors.columns[k] = ema(factors.columns[k], of_columns[k]);
    }
  }

  /// v of each element of a vector of `elements`: R_j C_k / mean(R) in a matrix, 0 outside of tensors.
  [[nodiscard]] std::vector<float> variance(std::size_t elements) const {
    std::vector<float> v(elements, 0.0F);
    for (const Factors& factors : tensors) {
      float* const out = v.data() + factors.begin;
      if (!factors.is_matrix()) {
        for (std::size_t i = 0; i < factors.rows.size(); ++i) out[i] = factors.rows[i];
        continue;
      }
      double mean = 0.0;
      for (const float row : factors.rows) mean += row;
      mean /= static_cast<double>(factors.row_count);
      for (std::size_t j = 0; j < factors.row_count && mean > 0.0; ++j) {
        for (std::size_t k = 0; k < factors.column_count; ++k) {
          const double product =
              static_cast<double>(factors.rows[j]) * static_cast<double>(factors.columns[k]);
          out[j * factors.column_count + k] = static_cast<float>(product / mean);
        }
      }
    }
    return v;
  }

  /// Replaces the factors of all ranks by their means, summed in rank order.
  static void average(std::vector<FactoredVariance>& ranks) {
    const auto mean = [&](auto member) {
      for (std::size_t tensor = 0; tensor < ranks[0].tensors.size(); ++tensor) {
        for (std::size_t i = 0; i < (ranks[0].tensors[tensor].*member).size(); ++i) {
          float sum = 0.0F;
          for (const FactoredVariance& rank : ranks) sum += (rank.tensors[tensor].*member)[i];
          for (FactoredVariance& rank : ranks)
            (rank.tensors[tensor].*member)[i] =
                sum * static_cast<float>(1.0 / static_cast<double>(ranks.size()));
        }
      }
    };
    mean(&Factors::rows);
    mean(&Factors::columns);
  }
};

}  // namespace kadam::reference
