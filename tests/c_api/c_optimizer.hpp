// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/make_optimizer.hpp>

#include <gtest/gtest.h>

#include <kadam.h>
#include <string>

/// An optimizer by the C interface, which has to do all that the C++ interface does.
namespace kadam::test {

inline const TensorLayout c_layout({{"weights", 0, 900}, {"bias", 900, 930}, {"more", 930, 2003}});

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline void set(kadam_setup* setup, const std::string& name, const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) kadam_setup_flag(setup, name.c_str(), *flag ? 1 : 0);
  if (const auto* number = std::get_if<std::int64_t>(&value))
    kadam_setup_integer(setup, name.c_str(), *number);
  if (const auto* number = std::get_if<double>(&value)) kadam_setup_real(setup, name.c_str(), *number);
  if (const auto* text = std::get_if<std::string>(&value))
    kadam_setup_text(setup, name.c_str(), text->c_str());
  if (const auto* list = std::get_if<std::vector<double>>(&value))
    kadam_setup_reals(setup, name.c_str(), static_cast<int>(list->size()), list->data());
}

/// Setup and optimizer, destroyed in the end.
struct COptimizer {
  COptimizer(const std::string& name, const OptionMap& options) : setup(kadam_setup_create(name.c_str())) {
    for (const Tensor& tensor : c_layout.tensors())
      kadam_setup_tensor(setup, tensor.name.c_str(), tensor.elements());
    for (const auto& [option, value] : options) set(setup, option, value);
  }
  COptimizer(const COptimizer&) = delete;
  COptimizer& operator=(const COptimizer&) = delete;
  ~COptimizer() {
    kadam_setup_destroy(setup);
    EXPECT_EQ(kadam_destroy(&optimizer, nullptr), KADAM_SUCCESS);
  }
  kadam_status create(MPI_Comm communicator) { return kadam_create(setup, communicator, &optimizer, &error); }

  kadam_setup* setup;
  kadam_optimizer* optimizer = nullptr;
  kadam_error error{};
};

}  // namespace kadam::test
