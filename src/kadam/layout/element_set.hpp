// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/chunk_layout.hpp>

#include <vector>

namespace kadam {

/// Some elements of the flat vector: as few ranges as they make.
///
/// Worked number: [0, 4), [8, 9) and [2, 6) make [0, 6) and [8, 9); with [6, 8) they make [0, 9).
class ElementSet {
 public:
  /// Adds a range, of which elements may be there already. Returns the range of the set that holds it now.
  ElementRange add(ElementRange range);

 private:
  std::vector<ElementRange> ranges_;  ///< none empty, ascending, with elements between any two
};

}  // namespace kadam
