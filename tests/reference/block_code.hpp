// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/number_format.hpp>
#include <reference/simulated_ranks.hpp>
#include <reference/undecided.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

/// Codes and compressed means in plain loops over plain vectors, straight from the papers. The kernels must
/// give the same results. Nothing of Kadam is used here.
namespace kadam::reference {

struct Code {
  std::string name = "sign";  ///< or "uniform2", "uniform4", "uniform8", "float8", "gauss2"
  bool mean_abs = false;      ///< scale of the sign code: mean |h| instead of sqrt(mean h^2)
  std::int64_t block = 2048;  ///< elements of a scale block; 0: the whole chunk
  int ranks_per_node = 1;     ///< above 1: two levels, each node's mean is compressed
  float slack = 1.0F;         ///< factor on the distance within which rounding may decide: see undecided.hpp
  bool short_errors = false;  ///< errors are kept in bf16, rounded by chance
};

/// The largest number that a code can say at scale 1; not for sign and gauss2.
inline float largest_of(const Code& code) {
  static const std::map<std::string, float> largest = {
      {"uniform2", 1.0F}, {"uniform4", 7.0F}, {"uniform8", 127.0F}, {"float8", 448.0F}};
  return largest.at(code.name);
}

/// Distance between the numbers that a code can say near `value`, at scale 1.
inline float spacing_at(const Code& code, float value) {
  if (code.name != "float8") return 1.0F;
  int exponent = 0;
  (void)std::frexp(value, &exponent);  // value = f 2^exponent, 1/2 <= |f| < 1
  return std::ldexp(1.0F, std::max(exponent - 1, -6) - 3);
}

/// sqrt(mean h^2), or mean |h|, over the active elements of a block.
inline float mean_size(const std::vector<float>& h, const std::vector<bool>& active, bool mean_abs) {
  double sum = 0.0;
  std::int64_t k = 0;
  for (std::size_t i = 0; i < h.size(); ++i) {
    if (!active[i]) continue;
    const auto value = static_cast<double>(h[i]);
    sum += mean_abs ? std::fabs(value) : value * value;
    ++k;
  }
  const double mean = k == 0 ? 0.0 : sum / static_cast<double>(k);
  return flushed(static_cast<float>(mean_abs ? mean : std::sqrt(mean)));
}

/// decoded C(h) of one scale block; 0 where active[i] is false. Appends to `undecided` the elements about
/// which rounding alone decided.
inline std::vector<float> quantise_block(const Code& code, const std::vector<float>& h,
                                         const std::vector<bool>& active, Undecided* undecided = nullptr) {
  std::vector<float> q(h.size(), 0.0F);
  if (code.name == "sign") {
    const float s = mean_size(h, active, code.mean_abs);
    for (std::size_t i = 0; i < h.size(); ++i) {
      if (!active[i]) continue;
      q[i] = h[i] >= 0.0F ? s : -s;
      if (undecided != nullptr && is_near_zero(h[i], s, code.slack)) undecided->push_back(i);
    }
    return q;
  }
  if (code.name == "gauss2") {
    const float s = mean_size(h, active, false);
    const float border = 0.9816F * s;
    for (std::size_t i = 0; i < h.size(); ++i) {
      if (!active[i]) continue;
      const float a = std::fabs(h[i]);
      const float magnitude = (a < border ? 0.4528F : 1.5104F) * s;
      q[i] = h[i] < 0.0F ? -magnitude : magnitude;
      const bool is_near = is_near_zero(h[i], s, code.slack) ||
                           is_near_tie(std::max(a, border), std::min(a, border), code.slack);
      if (undecided != nullptr && is_near) undecided->push_back(i);
    }
    return q;
  }
  float largest = 0.0F;
  for (std::size_t i = 0; i < h.size(); ++i) {
    if (active[i]) largest = std::max(largest, std::fabs(h[i]));
  }
  const float limit = largest_of(code);
  const float scale = flushed(largest / limit);
  if (scale == 0.0F) return q;
  for (std::size_t i = 0; i < h.size(); ++i) {
    if (!active[i]) continue;
    const float quotient = h[i] / scale;
    const float spacing = spacing_at(code, quotient);
    q[i] = std::clamp(std::nearbyint(quotient / spacing) * spacing, -limit, limit) * scale;
    if (undecided != nullptr && is_near_half(h[i], spacing * scale, code.slack)) undecided->push_back(i);
  }
  return q;
}

/// An integer hash of two multiplications: random bits from a number.
inline std::uint32_t scattered(std::uint32_t x) {
  for (const auto& [shift, factor] : {std::pair(16U, 0x7feb352dU), std::pair(15U, 0x846ca68bU)}) {
    x = (x ^ (x >> shift)) * factor;
  }
  return x ^ (x >> 16U);
}

/// Rounds a block of errors to bf16 with a sequence of 16-bit random numbers. The number of the rounding and
/// the first element of the block in its vector define where the sequence begins.
class ByChance {
 public:
  ByChance(std::uint32_t rounding, std::int64_t first)
      : start_(scattered(mixed(rounding, {first >> 32, first}))) {}
  /// Number of a rounding: of the errors for one owner's chunk in one exchange, on workers or on the server.
  static std::uint32_t rounding(int owner, std::int64_t exchange, bool by_server) {
    return mixed(by_server ? 2 : 1, {owner, exchange, exchange >> 32});
  }

  /// Element k of the block, rounded to one of the two multiples of 2^(e - 7) around it if it is in [2^e,
  /// 2^(e + 1)).
  [[nodiscard]] float rounded(float value, std::int64_t k) const {
    const double units = std::ldexp(std::fabs(static_cast<double>(value)), -unit_of(value));
    const double away = std::floor(units + chance(k));
    return static_cast<float>(std::copysign(std::ldexp(away, unit_of(value)), static_cast<double>(value)));
  }

 private:
  /// Random number of element k: a multiple of 1/65536 in [0, 1).
  [[nodiscard]] double chance(std::int64_t k) const {
    const auto golden = static_cast<std::uint32_t>(k / 32 * 16 + k % 16) * 0x9e3779b9U + start_;
    return (k % 32 < 16 ? golden % 65536 : golden / 65536) / 65536.0;
  }
  static int unit_of(float value) {
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    return std::max(exponent, -125) - 8;
  }
  static std::uint32_t mixed(std::uint32_t number, const std::vector<std::int64_t>& parts) {
    for (const std::int64_t part : parts) number = scattered(number) ^ static_cast<std::uint32_t>(part);
    return number;
  }

  std::uint32_t start_ = 0;
};

/// Elements [begin, end) of a vector.
struct Chunk {
  std::int64_t begin;
  std::int64_t end;
};

inline Chunk chunk_of(std::int64_t elements, int ranks, int rank) {
  const std::int64_t per_rank = (elements + ranks - 1) / ranks;
  const std::int64_t c = 64 * ((per_rank + 63) / 64);
  return {std::min(rank * c, elements), std::min((rank + 1) * c, elements)};
}

/// q <- decoded C(h) in a chunk, cut into blocks from its beginning. Appends to `undecided`.
inline void quantise_chunk(const Code& code, const std::vector<float>& h, const std::vector<bool>& active,
                           Chunk chunk, std::vector<float>& q, Undecided* undecided = nullptr) {
  const std::int64_t block =
      code.block == 0 ? std::max<std::int64_t>(1, chunk.end - chunk.begin) : code.block;
  for (std::int64_t first = chunk.begin; first < chunk.end; first += block) {
    const std::int64_t last = std::min(first + block, chunk.end);
    const std::vector<float> part(h.begin() + first, h.begin() + last);
    const std::vector<bool> part_active(active.begin() + first, active.begin() + last);
    Undecided in_block;
    const std::vector<float> decoded = quantise_block(code, part, part_active, &in_block);
    for (const std::size_t i : in_block) {
      if (undecided != nullptr) undecided->push_back(static_cast<std::size_t>(first) + i);
    }
    std::copy(decoded.begin(), decoded.end(), q.begin() + first);
  }
}

/// Variance floor. R^2 is the mean of the v > 0 of a scale block. Where v > 0: v <- max(v, (floor R)^2), but
/// v <- 0 where sqrt(v) is below all of eps, R/1000 and floor R. Does nothing for a floor of 0.
inline void raise_variance(const Code& code, double floor, double eps, int ranks, std::vector<float>& v) {
  if (floor == 0.0) return;
  const auto elements = static_cast<std::int64_t>(v.size());
  for (int j = 0; j < ranks; ++j) {
    const Chunk chunk = chunk_of(elements, ranks, j);
    const std::int64_t block =
        code.block == 0 ? std::max<std::int64_t>(1, chunk.end - chunk.begin) : code.block;
    for (std::int64_t first = chunk.begin; first < chunk.end; first += block) {
      const auto begin = v.begin() + first;
      const auto end = v.begin() + std::min(first + block, chunk.end);
      const auto count = std::count_if(begin, end, [](float value) { return value > 0.0F; });
      if (count == 0) continue;
      const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(count);
      const auto least = static_cast<float>(floor * floor * mean);
      const auto noise = static_cast<float>(std::min(eps * eps, 1e-6 * mean));
      std::for_each(begin, end, [&](float& value) {
        const bool is_noise = value < noise && value < least;
        value = value > 0.0F && !is_noise ? std::max(value, least) : 0.0F;
      });
    }
  }
}

/// C-AR over simulated ranks with its errors: the specification of kadam's CompressedMean. In two levels a
/// node has one worker error; which of its ranks holds which part changes no number.
struct CompressedMean {
  Code code;
  int chunks;                       ///< number of ranks
  Ranks worker_error;               ///< [rank or node][d]
  std::vector<float> server_error;  ///< [d], each chunk by its owner
  Undecided undecided = {};         ///< of the last exchange
  std::int64_t exchanges = 0;

  CompressedMean(const Code& c, int ranks, std::int64_t elements)
      : code(c),
        chunks(ranks),
        worker_error(zeros(ranks / c.ranks_per_node, elements)),
        server_error(static_cast<std::size_t>(elements), 0.0F) {}

  /// The compressed mean of the inputs of all ranks; 0 where active is false.
  std::vector<float> operator()(const Ranks& inputs, const std::vector<bool>& active) {
    undecided.clear();
    const Ranks y = node_means(inputs, code.ranks_per_node);
    const std::size_t ranks = y.size();
    if (ranks == 1) {
      std::vector<float> out = y[0];
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = active[i] ? out[i] : 0.0F;
      return out;
    }
    ++exchanges;
    const auto elements = static_cast<std::int64_t>(y[0].size());
    Ranks q = zeros(static_cast<int>(ranks), elements);
    for (std::size_t r = 0; r < ranks; ++r) {
      std::vector<float> h(y[r].size(), 0.0F);
      for (std::size_t i = 0; i < h.size(); ++i) h[i] = active[i] ? y[r][i] + worker_error[r][i] : 0.0F;
      for (int j = 0; j < chunks; ++j)
        quantise_chunk(code, h, active, chunk_of(elements, chunks, j), q[r], &undecided);
      for (std::size_t i = 0; i < h.size(); ++i) worker_error[r][i] = active[i] ? h[i] - q[r][i] : 0.0F;
      const auto nodes = static_cast<int>(ranks);
      for (int j = 0; j < chunks; ++j) {
        // A rank of a node holds the errors of `nodes` consecutive chunks.
        const std::int64_t held_from = chunk_of(elements, chunks, j - j % nodes).begin;
        round_errors(worker_error[r], j, held_from, static_cast<int>(r), false);
      }
    }
    std::vector<float> p(y[0].size(), 0.0F);
    const auto inverse = static_cast<float>(1.0 / static_cast<double>(ranks));
    for (std::size_t i = 0; i < p.size(); ++i) {
      float sum = 0.0F;
      for (std::size_t r = 0; r < ranks; ++r) sum += q[r][i];
      p[i] = active[i] ? sum * inverse + server_error[i] : 0.0F;
    }
    std::vector<float> out(y[0].size(), 0.0F);
    for (int j = 0; j < chunks; ++j)
      quantise_chunk(code, p, active, chunk_of(elements, chunks, j), out, &undecided);
    for (std::size_t i = 0; i < p.size(); ++i) server_error[i] = active[i] ? p[i] - out[i] : 0.0F;
    for (int j = 0; j < chunks; ++j) {
      round_errors(server_error, j, chunk_of(elements, chunks, j).begin, j % static_cast<int>(ranks), true);
    }
    return out;
  }

  /// Rounds the errors of one chunk to bf16, if code.short_errors. held_from: first element of the vector
  /// that holds them on its rank. by_server: server errors, else worker errors.
  void round_errors(std::vector<float>& errors, int chunk, std::int64_t held_from, int owner,
                    bool by_server) const {
    if (!code.short_errors) return;
    const Chunk range = chunk_of(static_cast<std::int64_t>(errors.size()), chunks, chunk);
    for (std::int64_t first = range.begin; first < range.end; first += code.block) {
      const ByChance chance(ByChance::rounding(owner, exchanges, by_server), first - held_from);
      for (std::int64_t i = first; i < std::min(first + code.block, range.end); ++i) {
        auto& error = errors[static_cast<std::size_t>(i)];
        error = chance.rounded(error, i - first);
      }
    }
  }
};

}  // namespace kadam::reference
