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

/// A code for chunked vectors in scale blocks, chosen by its name when a program runs. This is THE list of
/// codes: options, their help, the plan, kadam-bench and tests follow from it. A number of bits in place of a
/// name means the first code in the list with this number.
using AnyQuantiser = std::variant<SignQuantiser, UniformQuantiser<2>, UniformQuantiser<4>,
                                  UniformQuantiser<8>, Float8Quantiser, Gauss2Quantiser, IdentityQuantiser>;

/// The codes of an optimizer with one bit per element: the sign or, on a single rank, the identity.
using SignCode = std::variant<SignQuantiser, IdentityQuantiser>;
/// The codes whose errors may be kept in bf16: the sign, whose errors are about as large as what it sends.
using ShortErrorCode = std::variant<SignQuantiser>;
/// The codes that go with a moving-average error.
using UniformCode = std::variant<UniformQuantiser<2>, UniformQuantiser<4>, UniformQuantiser<8>>;

/// Calls function(code) for each of Codes except the identity, which stands for no code at all.
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

/// Which codes code_names() lists: all, or those that can represent 0 (has_zero).
enum class CodesThat : std::uint8_t { are_any, have_zero };

/// The names of Codes, in their order, without the identity.
template <class Codes = AnyQuantiser>
[[nodiscard]] std::vector<std::string> code_names(CodesThat which = CodesThat::are_any) {
  std::vector<std::string> names;
  for_each_code<Codes>([&](const auto& code) {
    if (which == CodesThat::are_any || code.has_zero) names.emplace_back(code.name);
  });
  return names;
}

/// The code of this name, the identity too. `scale` is the rule for the scale of a sign code; other codes
/// ignore it. Errors: std::invalid_argument for a name that no code has.
[[nodiscard]] AnyQuantiser make_quantiser(std::string_view name, SignScale scale = SignScale::rms);
/// The bits per element of the code of this name. Errors: as for make_quantiser().
[[nodiscard]] int code_bits(std::string_view name);

/// The name and the bits per element of a code, from which costs are computed.
struct CodeFigures {
  std::string_view name;  ///< lives as long as the program
  int bits;
};
[[nodiscard]] inline CodeFigures figures_of(const AnyQuantiser& quantiser) {
  return std::visit([](const auto& code) { return CodeFigures{code.name, code.bits}; }, quantiser);
}

}  // namespace kadam
