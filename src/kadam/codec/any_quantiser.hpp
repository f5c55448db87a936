// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/quantiser.hpp>

#include <variant>

namespace kadam {

/// The codes of chunked vectors in scale blocks, one of which is chosen when a program runs.
using AnyQuantiser = std::variant<SignQuantiser, UniformQuantiser<2>, UniformQuantiser<4>,
                                  UniformQuantiser<8>, IdentityQuantiser>;

/// Those of them that an optimizer with one bit per element can have; on a single rank the identity.
using SignCode = std::variant<SignQuantiser, IdentityQuantiser>;

/// bits = 1: sign with this scale; 2, 4, 8: uniform; 32: identity. Errors: std::invalid_argument for others.
[[nodiscard]] AnyQuantiser make_quantiser(int bits, SignScale scale);

}  // namespace kadam
