// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <kadam/kernels/bfloat16_errors.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/half_copy.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <memory>

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

struct ScaleElement {
  float factor;
  KOKKOS_FUNCTION void operator()(float& x) const { x *= factor; }
};

struct CopyElement {
  KOKKOS_FUNCTION void operator()(const float& from, float& to) const { to = from; }
};

constexpr std::int64_t small_elements = 10000;

KernelCase step_of(const std::string& name, const OptionMap& options) {
  const std::shared_ptr<Optimizer> optimizer =
      make_optimizer(name, options, TensorLayout({{"weights", 0, small_elements}}), Communicator::self());
  const auto vectors = std::make_shared<Vectors>(small_elements);
  return {name + " step, d = 10000, 1 rank", 0.0, small_elements, Limit::none,
          [optimizer, vectors](const auto& exec) { optimizer->step(exec, vectors->x, vectors->gradient); }};
}

}  // namespace

void fill(const ExecutionSpace& exec, const Vector<float>& values, float size, std::uint32_t seed) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam-bench::fill", Policy(exec, 0, static_cast<std::int64_t>(values.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::uint32_t bits = scattered(static_cast<std::uint32_t>(i) ^ seed);
        const float unit = static_cast<float>(bits >> 8U) * 0x1p-23F - 1.0F;  // -1 to 1
        values(i) = size * unit * unit * unit;
      });
}

Vectors::Vectors(std::int64_t size) : elements(size) {
  const ExecutionSpace exec;
  x = allocate<float>(exec, "kadam-bench::x", size);
  m = allocate<float>(exec, "kadam-bench::m", size);
  v = allocate<float>(exec, "kadam-bench::v", size);
  gradient = allocate<float>(exec, "kadam-bench::gradient", size);
  bfloat16_gradient = allocate<Bfloat16>(exec, "kadam-bench::bfloat16_gradient", size);
  float16_gradient = allocate<Float16>(exec, "kadam-bench::float16_gradient", size);
  model = allocate<Bfloat16>(exec, "kadam-bench::model", size);
  error = allocate<float>(exec, "kadam-bench::error", size);
  const std::vector<std::int64_t> boundaries = {0, size};
  const std::int64_t blocks = TensorBlocks<MemorySpace>::first_blocks(boundaries).back();
  byte_moments = {TensorBlocks<MemorySpace>::make(boundaries),
                  allocate_zeros<std::uint8_t>(exec, "kadam-bench::m_codes", size),
                  allocate_zeros<std::uint8_t>(exec, "kadam-bench::v_codes", size),
                  allocate_zeros<float>(exec, "kadam-bench::m_scales", blocks),
                  allocate_zeros<float>(exec, "kadam-bench::v_scales", blocks)};
  words = allocate_zeros<std::uint32_t>(exec, "kadam-bench::words", size);
  fill(exec, x, 1.0F, 1);
  fill(exec, m, 1e-3F, 2);
  fill(exec, gradient, 1e-2F, 3);
  write_copy<ExecutionSpace, MemorySpace>(exec, gradient, HalfCopy<MemorySpace>(bfloat16_gradient));
  write_copy<ExecutionSpace, MemorySpace>(exec, gradient, HalfCopy<MemorySpace>(float16_gradient));
  write_copy<ExecutionSpace, MemorySpace>(exec, x, HalfCopy<MemorySpace>(model));
  fill(exec, error, 1e-3F, 4);
  Kokkos::deep_copy(exec, v, 1e-6F);
  exec.fence("kadam-bench: vectors");
}

Code::Code(const std::string& code_name, const Vectors& vectors, int ranks_of_code)
    : name(code_name),
      ranks(ranks_of_code),
      codec(make_quantiser(name), ChunkLayout(vectors.elements, ranks), block),
      chunk_elements(ChunkLayout(vectors.elements, ranks).chunk(0).elements()),
      bytes(code_bits(name) / 8.0 + 4.0 / block),
      message(
          allocate_zeros<std::uint32_t>({}, "kadam-bench::message", words_of(codec.message().total_bytes()))),
      reply(
          allocate_zeros<std::uint32_t>({}, "kadam-bench::reply", words_of(codec.message().piece(0).bytes))) {
  const ExecutionSpace exec;
  fill(exec, vectors.error, 1e-3F, 4);
  codec.encode(exec, codec.message().map(), {}, vectors.error, message);
  exec.fence("kadam-bench: message");
}

std::vector<KernelCase> limit_cases(const Vectors& vectors) {
  const std::int64_t d = vectors.elements;
  const std::int64_t tiles = (d + SumOfTile::tile - 1) / SumOfTile::tile;
  const Vector<float> sums("kadam-bench::sums", static_cast<std::size_t>(tiles));
  std::vector<KernelCase> cases = {
      {update_limit_kernel, 8.0, d, Limit::update,
       [&, d](const auto& exec) {
         for_each_element("kadam-bench::scale", exec, d, ScaleElement{0.9999999F}, updates(vectors.x));
       }},
      {read_limit_kernel, 4.0, d, Limit::read,
       [&, tiles, sums](const auto& exec) {
         detail::for_each_block("kadam-bench::sum", exec, 0, tiles, SumOfTile{vectors.x, sums});
       }},
      {copy_kernel, 8.0, d, Limit::update, [&, d](const auto& exec) {
         for_each_element("kadam-bench::copy", exec, d, CopyElement{}, reads(vectors.gradient),
                          writes(vectors.error));
       }}};
  // On a host it is a loop like the copy, and writes around no cache.
  if (!kernels_run_on_host) {
    cases.push_back({device_limit_kernel, 8.0, d, Limit::update,
                     [&](const auto& exec) { Kokkos::deep_copy(exec, vectors.error, vectors.gradient); }});
  }
  return cases;
}

std::vector<KernelCase> small_step_cases() {
  return {step_of("adam", {}), step_of("onebit_adam", {{"warmup_steps", 1}})};
}

}  // namespace kadam::bench
