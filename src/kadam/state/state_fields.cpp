// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/state/state_fields.hpp>

#include <algorithm>
#include <stdexcept>

namespace kadam {

const Vector<float>& StateFields::vector(const std::string& name) const {
  const auto found = std::find_if(vectors_.begin(), vectors_.end(),
                                  [&](const StateVector& field) { return field.name == name; });
  if (found == vectors_.end()) throw std::out_of_range("kadam::StateFields: no vector '" + name + "'");
  return found->values;
}

}  // namespace kadam
