// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/layout/tensor_layout.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace kadam {
namespace {

TEST(TensorLayout, BuilderPlacesTensorsOneAfterTheOther) {
  TensorLayoutBuilder builder;
  EXPECT_EQ(builder.add("w", 6), 0);
  EXPECT_EQ(builder.add("empty", 0), 6);
  EXPECT_EQ(builder.add("b", 2), 6);
  const TensorLayout layout = builder.build();
  EXPECT_EQ(layout.elements(), 8);
  EXPECT_EQ(layout.tensors()[2], (Tensor{"b", 6, 8}));
}

TEST(TensorLayout, NoTensorsHaveNoElements) {
  EXPECT_EQ(TensorLayout().elements(), 0);
}

std::string refusal(std::vector<Tensor> tensors) {
  try {
    const TensorLayout layout(std::move(tensors));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(TensorLayout, RefusalsNameTheTensor) {
  EXPECT_NE(refusal({{"a", 0, 4}, {"gap", 5, 8}}).find("'gap' [5, 8) must begin at element 4"),
            std::string::npos);
  EXPECT_NE(refusal({{"a", 0, 4}, {"overlap", 3, 8}}).find("'overlap'"), std::string::npos);
  EXPECT_NE(refusal({{"a", 0, 4}, {"a", 4, 8}}).find("named 'a'"), std::string::npos);
  EXPECT_NE(refusal({{"back", 0, -1}}).find("ends before it begins"), std::string::npos);
}

}  // namespace
}  // namespace kadam
