// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/quantiser.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace kadam {

/// The codes of chunked vectors in scale blocks, one of which is chosen by its name when a program runs. THE
/// list: options, their help, the plan, kadam-bench and tests follow from it. Where a number of bits stands
/// for a code it means the first of them that has so many.
using AnyQuantiser = std::variant<SignQuantiser, UniformQuantiser<2>, UniformQuantiser<4>,
                                  UniformQuantiser<8>, Float8Quantiser, Gauss2Quantiser, IdentityQuantiser>;

/// Those of them that an optimizer with one bit per element can have; on a single rank the identity.
using SignCode = std::variant<SignQuantiser, IdentityQuantiser>;
/// Those whose errors may be kept in bf16: what one bit leaves is about as large as what it says.
using ShortErrorCode = std::variant<SignQuantiser>;
/// Those that a moving-average error can have.
using UniformCode = std::variant<UniformQuantiser<2>, UniformQuantiser<4>, UniformQuantiser<8>>;

/// Calls function(code) for each of Codes but the identity, which stands for no code at all.
template <class Codes = AnyQuantiser, class Function>
void for_each_code(const Function& function) {
  const auto visits = [&]<class... Q>(const std::variant<Q...>* /*codes*/) {
    const auto visit = [&]<class Code>(const Code& code) {
      if constexpr (!std::is_same_v<Code, IdentityQuantiser>) function(code);
    };
    (visit(Q{}), ...);
  };
  visits(static_cast<const Codes*>(nullptr));
}

enum class CodesThat : std::uint8_t { are_any, have_zero };

/// The names of these codes, in their order, but for the identity: of all, or of those that can say 0.
template <class Codes = AnyQuantiser>
[[nodiscard]] std::vector<std::string> code_names(CodesThat which = CodesThat::are_any) {
  std::vector<std::string> names;
  for_each_code<Codes>([&](const auto& code) {
    if (which == CodesThat::are_any || code.has_zero) names.emplace_back(code.name);
  });
  return names;
}

/// The code of this name; `scale` is that of a sign. Errors: std::invalid_argument for a name that no code
/// has.
[[nodiscard]] AnyQuantiser make_quantiser(std::string_view name, SignScale scale = SignScale::rms);
/// The bits per element of the code of this name. Errors: as make_quantiser.
[[nodiscard]] int code_bits(std::string_view name);

/// What costs ask of a code.
struct CodeFigures {
  std::string_view name;  ///< lives as long as the program
  int bits;
};
[[nodiscard]] inline CodeFigures figures_of(const AnyQuantiser& quantiser) {
  return std::visit([](const auto& code) { return CodeFigures{code.name, code.bits}; }, quantiser);
}

}  // namespace kadam
