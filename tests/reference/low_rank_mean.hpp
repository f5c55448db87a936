// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/block_code.hpp>
#include <reference/simulated_ranks.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

/// The low-rank mean in plain loops. Nothing of Kadam is used here.
namespace kadam::reference {

/// A matrix in a flat vector, row-major.
struct MatrixPlace {
  std::int64_t begin;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t tensor;  ///< its number among all tensors
};

using Column = std::vector<float>;
using Factor = std::vector<Column>;

/// Entry i of the seed matrix of a tensor: SplitMix64.
inline float seed_entry(std::uint64_t seed, std::int64_t tensor, std::int64_t i) {
  std::uint64_t z = seed + (1ULL << 40U) * static_cast<std::uint64_t>(tensor) +
                    static_cast<std::uint64_t>(i) + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  z = z ^ (z >> 31U);
  return static_cast<float>(static_cast<double>(z >> 40U) * 0x1.0p-23 - 1.0);
}

/// Column c of the seed matrix of a tensor. Shape: [rows][columns].
inline Column seed_column(std::uint64_t seed, std::int64_t tensor, std::int64_t rows, std::int64_t columns,
                          std::int64_t c) {
  Column column;
  for (std::int64_t j = 0; j < rows; ++j) column.push_back(seed_entry(seed, tensor, j * columns + c));
  return column;
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Columns made orthonormal by modified Gram-Schmidt in two passes, in double. A column that depends on those
/// before becomes 0.
inline Factor orthonormal(const Factor& columns) {
  std::vector<std::vector<double>> done;
  Factor rounded;
  for (const Column& column : columns) {
    std::vector<double> own(column.begin(), column.end());
    const double length = std::sqrt(dot(own, own));
    for (int pass = 0; pass < 2; ++pass) {
      for (const auto& other : done) {
        const double along = dot(other, own);
        for (std::size_t i = 0; i < own.size(); ++i) own[i] -= along * other[i];
      }
    }
    const double kept = std::sqrt(dot(own, own));
    for (double& value : own) value = kept > 0.0 && kept >= 1e-6 * length ? value / kept : 0.0;
    done.push_back(own);
    rounded.emplace_back(own.begin(), own.end());
  }
  return rounded;
}

/// The mean of factors over simulated ranks. [rank][column]
struct FactorMean {
  int bits = 8;

  /// Returns the mean as decoded from the owners' codes. own: the factor of each rank; becomes the decoded
  /// one. lost <- mean - result.
  Factor operator()(std::vector<Factor>& own, Factor& lost) const {
    const int ranks = static_cast<int>(own.size());
    Column means;
    Column replies;
    std::vector<Column> flat;
    for (const Factor& factor : own) flat.push_back(joined(factor));
    const std::vector<Chunk> pieces = pieces_of(own[0], ranks);
    for (Column& values : flat) values = decoded(values, pieces);
    means = dense_mean(flat);
    replies = decoded(means, pieces);
    for (std::size_t r = 0; r < own.size(); ++r) own[r] = like(own[r], flat[r]);
    Column loss = means;
    for (std::size_t i = 0; i < loss.size(); ++i) loss[i] = means[i] - replies[i];
    lost = like(own[0], loss);
    return like(own[0], replies);
  }

  /// Intersections of columns and chunks, in the order of joined(). Each has a scale.
  [[nodiscard]] static std::vector<Chunk> pieces_of(const Factor& factor, int ranks) {
    const auto elements = static_cast<std::int64_t>(joined(factor).size());
    std::vector<Chunk> pieces;
    std::int64_t begin = 0;
    for (const Column& column : factor) {
      const std::int64_t end = begin + static_cast<std::int64_t>(column.size());
      for (int j = 0; j < ranks; ++j) {
        const Chunk chunk = chunk_of(elements, ranks, j);
        const Chunk both{std::max(begin, chunk.begin), std::min(end, chunk.end)};
        if (both.begin < both.end) pieces.push_back(both);
      }
      begin = end;
    }
    return pieces;
  }
  /// The rank that owns each element, in the order of joined().
  [[nodiscard]] static std::vector<int> owners(std::int64_t elements, int ranks) {
    std::vector<int> all(static_cast<std::size_t>(elements), 0);
    for (int j = 0; j < ranks; ++j) {
      const Chunk chunk = chunk_of(elements, ranks, j);
      for (std::int64_t i = chunk.begin; i < chunk.end; ++i) all[static_cast<std::size_t>(i)] = j;
    }
    return all;
  }
  /// The columns of a factor one after the other.
  [[nodiscard]] static Column joined(const Factor& factor) {
    Column all;
    for (const Column& column : factor) all.insert(all.end(), column.begin(), column.end());
    return all;
  }
  /// Inverse of joined(), with the columns of `shape`.
  [[nodiscard]] static Factor like(const Factor& shape, const Column& values) {
    Factor factor;
    auto next = values.begin();
    for (const Column& column : shape) {
      const auto length = static_cast<std::ptrdiff_t>(column.size());
      factor.emplace_back(next, next + length);
      next += length;
    }
    return factor;
  }

 private:
  [[nodiscard]] Column decoded(const Column& values, const std::vector<Chunk>& pieces) const {
    if (bits == 32) return values;
    Column out = values;
    for (const Chunk& piece : pieces) {
      const Column part(values.begin() + piece.begin, values.begin() + piece.end);
      const Column q = quantise_block({.name = "uniform" + std::to_string(bits)}, part,
                                      std::vector<bool>(part.size(), true));
      std::copy(q.begin(), q.end(), out.begin() + piece.begin);
    }
    return out;
  }
};

/// The low-rank mean of the matrices of a vector over simulated ranks, with coded factors and error feedback.
struct LowRankMean {
  std::vector<MatrixPlace> matrices;
  std::int64_t rank;  ///< of the factors, at most
  std::uint64_t seed;
  FactorMean factor_mean;
  Ranks error;
  Factor q = {};                            ///< right factor of the last step, columns of all matrices
  std::vector<std::int64_t> ranks_of = {};  ///< columns of each matrix's factors

  LowRankMean(std::vector<MatrixPlace> of, std::int64_t most, int bits, std::uint64_t begin_with, int ranks,
              std::int64_t elements)
      : matrices(std::move(of)),
        rank(most),
        seed(begin_with),
        factor_mean{bits},
        error(zeros(ranks, elements)) {
    for (const MatrixPlace& matrix : matrices) {
      ranks_of.push_back(std::min({rank, matrix.rows, matrix.columns}));
      for (std::int64_t c = 0; c < ranks_of.back(); ++c)
        q.push_back(seed_column(seed, matrix.tensor, matrix.columns, ranks_of.back(), c));
    }
  }

  /// mean <- low-rank mean of scale * gradients, in the elements of matrices; others are not touched.
  void operator()(const Ranks& gradients, double scale, std::vector<float>& mean) {
    const std::size_t ranks = gradients.size();
    std::vector<std::vector<double>> m;
    for (std::size_t r = 0; r < ranks; ++r) {
      std::vector<double> own;
      for (std::size_t i = 0; i < error[r].size(); ++i) {
        own.push_back(static_cast<double>(static_cast<float>(scale)) * static_cast<double>(gradients[r][i]) +
                      static_cast<double>(error[r][i]));
      }
      m.push_back(own);
    }
    std::vector<Factor> left(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      for_each_column([&](const MatrixPlace& a, std::size_t c, std::size_t) {
        Column column;
        for (std::int64_t i = 0; i < a.rows; ++i) {
          double sum = 0.0;
          for (std::int64_t j = 0; j < a.columns; ++j)
            sum += m[r][at(a, i, j)] * static_cast<double>(q[c][static_cast<std::size_t>(j)]);
          column.push_back(static_cast<float>(sum));
        }
        left[r].push_back(column);
      });
    }
    Factor lost;
    const Factor p = orthonormal_by_matrix(factor_mean(left, lost));
    std::vector<Factor> right(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      for_each_column([&](const MatrixPlace& a, std::size_t c, std::size_t) {
        Column column;
        for (std::int64_t j = 0; j < a.columns; ++j) {
          double sum = 0.0;
          for (std::int64_t i = 0; i < a.rows; ++i)
            sum += m[r][at(a, i, j)] * static_cast<double>(p[c][static_cast<std::size_t>(i)]);
          column.push_back(static_cast<float>(sum));
        }
        right[r].push_back(column);
      });
    }
    const Factor mean_right = factor_mean(right, lost);
    take_what_owners_lost(lost, right);
    for (std::size_t r = 0; r < ranks; ++r) error[r] = without(m[r], p, right[r], error[r]);
    write_product(p, mean_right, mean);
    q = mean_right;
    for_each_column([&](const MatrixPlace& a, std::size_t c, std::size_t of_matrix) {
      if (std::all_of(q[c].begin(), q[c].end(), [](float value) { return value == 0.0F; }))
        q[c] = seed_column(seed, a.tensor, a.columns, ranks_of[of_matrix], column_in_matrix(c, of_matrix));
    });
  }

 private:
  static std::size_t at(const MatrixPlace& a, std::int64_t row, std::int64_t column) {
    return static_cast<std::size_t>(a.begin + row * a.columns + column);
  }
  /// Calls function(matrix, number of the column among all, number of the matrix).
  template <class Function>
  void for_each_column(const Function& function) const {
    std::size_t column = 0;
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      for (std::int64_t c = 0; c < ranks_of[k]; ++c) function(matrices[k], column++, k);
    }
  }
  [[nodiscard]] std::int64_t column_in_matrix(std::size_t column, std::size_t matrix) const {
    auto in_matrix = static_cast<std::int64_t>(column);
    for (std::size_t k = 0; k < matrix; ++k) in_matrix -= ranks_of[k];
    return in_matrix;
  }
  [[nodiscard]] Factor orthonormal_by_matrix(const Factor& all) const {
    Factor done;
    auto next = all.begin();
    for (const std::int64_t columns : ranks_of) {
      for (const Column& column : orthonormal({next, next + columns})) done.push_back(column);
      next += columns;
    }
    return done;
  }
  /// R_r <- R_r - n lost in the elements that rank r owns, so its error keeps the loss of its codes.
  static void take_what_owners_lost(const Factor& lost, std::vector<Factor>& right) {
    const Column loss = FactorMean::joined(lost);
    const auto ranks = static_cast<int>(right.size());
    const std::vector<int> owners = FactorMean::owners(static_cast<std::int64_t>(loss.size()), ranks);
    for (int r = 0; r < ranks; ++r) {
      Factor& own = right[static_cast<std::size_t>(r)];
      Column values = FactorMean::joined(own);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (owners[i] == r) values[i] -= static_cast<float>(ranks) * loss[i];
      }
      own = FactorMean::like(own, values);
    }
  }
  /// Entry (i, j) of P R^T for a matrix.
  [[nodiscard]] double product(const Factor& p, const Factor& r, std::size_t matrix, std::int64_t i,
                               std::int64_t j) const {
    double sum = 0.0;
    for_each_column([&](const MatrixPlace& /*a*/, std::size_t c, std::size_t of_matrix) {
      if (of_matrix != matrix) return;
      sum += static_cast<double>(p[c][static_cast<std::size_t>(i)]) *
             static_cast<double>(r[c][static_cast<std::size_t>(j)]);
    });
    return sum;
  }
  /// Calls function(number of the matrix, row, column, element).
  template <class Function>
  void for_each_element(const Function& function) const {
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      for (std::int64_t i = 0; i < matrices[k].rows; ++i) {
        for (std::int64_t j = 0; j < matrices[k].columns; ++j) function(k, i, j, at(matrices[k], i, j));
      }
    }
  }
  /// `into`, with m - P R^T in the elements of matrices.
  [[nodiscard]] std::vector<float> without(const std::vector<double>& m, const Factor& p, const Factor& r,
                                           std::vector<float> into) const {
    for_each_element([&](std::size_t k, std::int64_t i, std::int64_t j, std::size_t element) {
      into[element] = static_cast<float>(m[element] - product(p, r, k, i, j));
    });
    return into;
  }
  void write_product(const Factor& p, const Factor& r, std::vector<float>& mean) const {
    for_each_element([&](std::size_t k, std::int64_t i, std::int64_t j, std::size_t element) {
      mean[element] = static_cast<float>(product(p, r, k, i, j));
    });
  }
};

}  // namespace kadam::reference
