// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/frozen_momentum.hpp>
#include <kadam/algorithms/zero_one_adam.hpp>
#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/local_rounds.hpp>

#include <fmt/format.h>

#include <string>

namespace kadam::bench {
namespace {

using Momentum = OfNumbers<MemorySpace, LocalMomentum>;
using Update = UpdateBySegment<MemorySpace, AdamApplyOf, WithCopy<MemorySpace, FrozenUpdate>>;

ContinuedLoad<Momentum, MemorySpace> momentum_of(const Numbers<MemorySpace>& gradient, const Code& code) {
  return {{gradient, {Ema::make(0.9), 1.0F}}, code.message};
}

/// One segment for all elements.
SegmentTable<MemorySpace> whole(const Vectors& vectors) {
  return segment_table({Segment{{0, vectors.elements}}});
}

Update update_of(const Vectors& vectors, const HalfCopy<MemorySpace>& copy) {
  return {{whole(vectors), AdamApplyOf::make(1e-3, 1e-8, 1.0, 1.0)}, {{vectors.x, vectors.v}, copy}};
}

Bfloat16Errors<MemorySpace> short_errors(const Vectors& vectors) {
  return {allocate_zeros<Bfloat16>({}, "kadam-bench::short_errors", vectors.elements), 1};
}

/// The bytes that are read and written of an error, per element.
double bytes_of_error(const Vector<float>& /*error*/) {
  return 2 * sizeof(float);
}
double bytes_of_error(const Bfloat16Errors<MemorySpace>& /*error*/) {
  return 2 * sizeof(Bfloat16);
}

/// One element in 64 has no variance, here and there, as weights of dead units have none.
struct OneIn64Inactive {
  KOKKOS_FUNCTION bool operator()(const std::int64_t i) const { return (i / 64 * 29 + i) % 64 != 0; }
};

ActiveMask<MemorySpace> one_in_64_inactive(const Vectors& vectors) {
  const Words<MemorySpace> words(
      "kadam-bench::mask", static_cast<std::size_t>(ActiveMask<MemorySpace>::words_for(vectors.elements)));
  fill_active_mask(ExecutionSpace(), words, vectors.elements, OneIn64Inactive{});
  return {words};
}

/// The bytes that are read of a mask, per element.
double bytes_of_mask(const ActiveMask<MemorySpace>& active) {
  return active.all_active() ? 0.0 : 1.0 / 8.0;
}

/// y = ema(m, g) fused in, with m in the message of the step before: reads g and the error, writes the error.
template <class Error>
KernelCase encode(const std::string& title, const Vectors& vectors, const Code& code,
                  const Numbers<MemorySpace>& gradient, const Error& error,
                  const ActiveMask<MemorySpace>& active = {}) {
  const auto bytes_of_gradient = static_cast<double>(bytes_per_number(gradient.format()));
  return {"encode " + code.name + ", " + title,
          bytes_of_gradient + bytes_of_error(error) + 2 * code.bytes + bytes_of_mask(active),
          vectors.elements, Limit::update, [code, gradient, error, active](const auto& exec) {
            code.codec.encode(exec, code.codec.message().map(), momentum_of(gradient, code), active, error,
                              code.message);
          }};
}

/// n messages of one chunk of d/n elements, decoded, added up, encoded again.
KernelCase reduce(const Vectors& vectors, const Code& code) {
  return {fmt::format("reduce {} of {}", code.name, code.ranks), 8.0 + (code.ranks + 1) * code.bytes,
          code.chunk_elements, Limit::update, [&vectors, code](const auto& exec) {
            code.codec.reduce(exec, 0, code.codec.message().chunk_map(0), code.ranks, code.message, {},
                              vectors.error, code.reply);
          }};
}

/// Reads v and x, writes x.
KernelCase decode(const std::string& title, const Vectors& vectors, const Code& code,
                  const ActiveMask<MemorySpace>& active = {}) {
  return {"decode " + code.name + ", " + title, 12.0 + code.bytes + bytes_of_mask(active), vectors.elements,
          Limit::update, [&vectors, code, active, update = update_of(vectors, {})](const auto& exec) {
            code.codec.decode(exec, code.message, active, 0, vectors.elements, update);
          }};
}

/// Another update than that of 1-bit Adam; own_bytes: what it reads and writes, per element.
template <class OtherUpdate>
KernelCase decode_into(const std::string& title, double own_bytes, const Vectors& vectors, const Code& code,
                       const OtherUpdate& update) {
  return {"decode " + code.name + ", " + title, own_bytes + code.bytes, vectors.elements, Limit::update,
          [&vectors, code, update](const auto& exec) {
            code.codec.decode(exec, code.message, {}, 0, vectors.elements, update);
          }};
}

/// The outer step of a round without momentum: reads x, writes x, u and the parameters.
KernelCase decode_round(const Vectors& vectors, const Code& code) {
  using Outer = UpdateBySegment<MemorySpace, OuterFactorsOf, OuterStep<MemorySpace>>;
  return decode_into("outer step", 16.0, vectors, code,
                     Outer{{whole(vectors), {}}, {vectors.x, {}, vectors.error, vectors.m}});
}

/// A synchronisation of 0/1 Adam: reads x and v, writes x, m, u and the parameters.
KernelCase decode_synchronisation(const Vectors& vectors, const Code& code) {
  using Synchronise = UpdateBySegment<MemorySpace, ZeroOneSynchronise::RuleOf, ZeroOneSynchronise>;
  LocalStepOf local;
  local.gamma_sum = 1e-3;
  local.eps = 1e-8F;
  return decode_into("0/1 Adam", 24.0, vectors, code,
                     Synchronise{{whole(vectors), {local}},
                                 {vectors.x, vectors.m, vectors.v, vectors.error, vectors.gradient}});
}

/// What a rank computes in a compressed step of 1-bit Adam: in float32, or from a bf16 gradient and with a
/// bf16 copy of the parameters, which is as many bytes, or with errors in bf16.
template <class Error>
KernelCase whole_step(const char* name, const Vectors& vectors, const Code& code,
                      const Numbers<MemorySpace>& gradient, const HalfCopy<MemorySpace>& copy,
                      const Error& error) {
  const double reduced = (bytes_of_error(error) + (code.ranks + 1) * code.bytes) / code.ranks;
  return {name, 16.0 + bytes_of_error(error) + 3 * code.bytes + reduced, vectors.elements, Limit::update,
          [&vectors, code, gradient, error, update = update_of(vectors, copy)](const auto& exec) {
            code.codec.encode(exec, code.codec.message().map(), momentum_of(gradient, code), {}, error,
                              code.message);
            code.codec.reduce(exec, 0, code.codec.message().chunk_map(0), code.ranks, code.message, {}, error,
                              code.reply);
            code.codec.decode(exec, code.message, {}, 0, vectors.elements, update);
          }};
}

}  // namespace

std::vector<KernelCase> codec_cases(const Vectors& vectors) {
  std::vector<Code> codes;
  for (const std::string& name : code_names()) codes.emplace_back(name, vectors, ranks_of_step);
  const Code sign("sign", vectors, ranks_of_step);
  const auto errors_in_16_bits = short_errors(vectors);
  std::vector<KernelCase> cases;
  for (const Code& code : codes) {
    cases.push_back(encode("momentum fused", vectors, code, vectors.gradient, vectors.error));
  }
  for (const Code& code : codes) cases.push_back(reduce(vectors, code));
  for (const int ranks : {8, 64}) cases.push_back(reduce(vectors, Code("sign", vectors, ranks)));
  for (const Code& code : codes) cases.push_back(decode("update fused", vectors, code));
  const ActiveMask<MemorySpace> active = one_in_64_inactive(vectors);
  cases.push_back(encode("1 in 64 inactive", vectors, sign, vectors.gradient, vectors.error, active));
  cases.push_back(decode("1 in 64 inactive", vectors, sign, active));
  cases.push_back(encode("bf16 gradient", vectors, sign, vectors.bfloat16_gradient, vectors.error));
  cases.push_back(encode("bf16 errors", vectors, sign, vectors.gradient, errors_in_16_bits));
  cases.push_back(decode_into("update and bf16 copy", 14.0, vectors, sign,
                              update_of(vectors, HalfCopy<MemorySpace>(vectors.model))));
  cases.push_back(decode_round(vectors, sign));
  cases.push_back(decode_synchronisation(vectors, sign));
  cases.push_back(whole_step("onebit_adam step, n = 4", vectors, sign, vectors.gradient, {}, vectors.error));
  cases.push_back(whole_step("onebit_adam step, bf16, n = 4", vectors, sign, vectors.bfloat16_gradient,
                             HalfCopy<MemorySpace>(vectors.model), vectors.error));
  cases.push_back(whole_step("onebit_adam step, bf16 errors, n = 4", vectors, sign, vectors.gradient, {},
                             errors_in_16_bits));
  return cases;
}

}  // namespace kadam::bench
