// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/adam.hpp>
#include <reference/factored_variance.hpp>
#include <reference/simulation.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace kadam::reference {

using Rows = std::vector<std::vector<double>>;

inline Rows product(const Rows& a, const Rows& b) {
  Rows c(a.size(), std::vector<double>(b[0].size(), 0.0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

inline Rows transposed(const Rows& a) {
  Rows t(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
  }
  return t;
}

/// A matrix orthogonalised by Muon's five Newton-Schulz steps, as published, in double. A high matrix is
/// transposed meanwhile.
inline Rows orthogonalised(const Rows& matrix) {
  const bool is_high = matrix.size() > matrix[0].size();
  Rows x = is_high ? transposed(matrix) : matrix;
  double norm = 0.0;
  for (const auto& row : x) {
    for (const double value : row) norm += value * value;
  }
  for (auto& row : x) {
    for (double& value : row) value /= std::sqrt(norm) + 1e-7;
  }
  for (int k = 0; k < 5; ++k) {
    const Rows a = product(x, transposed(x));
    const Rows aa = product(a, a);
    Rows b = a;
    for (std::size_t i = 0; i < b.size(); ++i) {
      for (std::size_t j = 0; j < b.size(); ++j) b[i][j] = -4.7750 * a[i][j] + 2.0315 * aa[i][j];
    }
    const Rows bx = product(b, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j < x[0].size(); ++j) x[i][j] = 3.4445 * x[i][j] + bx[i][j];
    }
  }
  return is_high ? transposed(x) : x;
}

/// The matrices that an option `matrices` names: "all", or patterns between commas.
struct Matrices {
  std::string names = "all";

  /// Whether a tensor is one of them.
  [[nodiscard]] bool hold(const Tensor& tensor) const {
    if (!tensor.is_matrix() || !tensor.spectral) return false;
    if (names == "all") return true;
    std::istringstream list(names);
    for (std::string pattern; std::getline(list, pattern, ',');) {
      if (fits(pattern, tensor.name)) return true;
    }
    return false;
  }
};

/// Moments of a sequence of gradients, and the directions of Muon for matrices and of Adam for all else.
struct MuonMoments {
  Hyper hyper;
  Matrices matrices;
  std::vector<float> m;
  std::vector<float> v;
  std::vector<FactoredVariance> factors = {};  ///< one, from which v follows; or none: v is kept

  MuonMoments(const Hyper& h, const Matrices& of, std::int64_t elements)
      : hyper(h), matrices(of), m(static_cast<std::size_t>(elements), 0.0F), v(m) {}

  /// Takes the gradient g of step t; returns the direction times the learning rate of each element.
  [[nodiscard]] std::vector<float> step(const std::vector<float>& g, std::int64_t t) {
    const std::vector<Rates> rates = hyper.rates(t, m.size());
    const double c1 = hyper.c1(t);
    const double c2 = hyper.c2(t);
    std::vector<float> u(m.size());
    for (FactoredVariance& variance : factors) {
      variance.update(g, hyper.beta2);
      v = variance.variance(m.size());
    }
    for (std::size_t i = 0; i < m.size(); ++i) {
      m[i] = ema(m[i], g[i], hyper.beta1);
      if (factors.empty()) v[i] = ema(v[i], g[i] * g[i], hyper.beta2);
      u[i] = direction(rates[i], hyper.eps, m[i], v[i], c1, c2);
    }
    for (const Tensor& tensor : hyper.tensors) {
      if (!matrices.hold(tensor)) continue;
      const auto begin = static_cast<std::size_t>(tensor.begin);
      const auto columns = static_cast<std::size_t>(tensor.columns());
      Rows w(static_cast<std::size_t>(tensor.rows()), std::vector<double>(columns));
      for (std::size_t row = 0; row < w.size(); ++row) {
        for (std::size_t column = 0; column < columns; ++column) {
          const std::size_t i = begin + row * columns + column;
          w[row][column] = ema(m[i], g[i], hyper.beta1);
        }
      }
      const Rows orthogonal = orthogonalised(w);
      const double size = 0.2 * std::sqrt(static_cast<double>(std::max(w.size(), columns)));
      for (std::size_t row = 0; row < w.size(); ++row) {
        for (std::size_t column = 0; column < columns; ++column) {
          u[begin + row * columns + column] =
              static_cast<float>(rates[begin].lr * size * orthogonal[row][column]);
        }
      }
    }
    return u;
  }
};

/// Dense Muon.
struct Muon {
  MuonMoments moments;
  std::int64_t t = 0;

  void step(std::vector<float>& x, const Ranks& gradients) {
    ++t;
    const Hyper& hyper = moments.hyper;
    const std::vector<float> u = moments.step(gradient_mean(hyper, gradients), t);
    const std::vector<Rates> rates = hyper.rates(t, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = decayed(rates[i], x[i]) - u[i];
  }
};

inline constexpr Reference muon_reference = {
    "muon", [](OptionReader& read, const World& world) {
      const Matrices matrices{read.word("matrices", "all")};
      return simulation_of(Muon{MuonMoments(read.hyper(), matrices, world.elements)});
    }};

}  // namespace kadam::reference
