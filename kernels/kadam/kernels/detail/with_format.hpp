// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace kadam::detail {

/// function(functor), or, for a functor that reads or writes one of several formats, function(the functor for
/// the format at hand).
///
/// Around a loop over a block or tile: the loop has no choice left in it, so that it vectorises on CPUs, and
/// on GPUs all threads of a team go the same way.
template <class Functor, class Function>
KOKKOS_FORCEINLINE_FUNCTION void with_format(const Functor& functor, const Function& function) {
  if constexpr (requires { functor.with_format(function); }) {
    functor.with_format(function);
  } else {
    function(functor);
  }
}

}  // namespace kadam::detail
