// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/layout/tensor_layout.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

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

TEST(TensorLayout, ShapesSayWhichTensorsAreMatrices) {
  TensorLayoutBuilder builder;
  builder.add("convolution", {8, 3, 5, 5});
  builder.add("embedding", {6, 4}, false);
  builder.add("row", {1, 7});
  builder.add("column", {7, 1});
  builder.add("flat", 12);
  builder.add("none", {0, 3});
  const TensorLayout layout = builder.build();
  const std::vector<Tensor>& tensors = layout.tensors();
  EXPECT_EQ(tensors[0].rows(), 8);
  EXPECT_EQ(tensors[0].columns(), 75);
  EXPECT_TRUE(tensors[0].is_matrix() && tensors[0].spectral);
  EXPECT_TRUE(tensors[1].is_matrix() && !tensors[1].spectral);
  for (const std::size_t k : {2, 3, 4, 5}) EXPECT_FALSE(tensors[k].is_matrix()) << tensors[k].name;
  EXPECT_EQ(layout.elements(), 600 + 24 + 7 + 7 + 12);
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
  EXPECT_NE(refusal({{"w", 0, 5, {2, 3}}}).find("'w' [0, 5) has the shape 2 x 3"), std::string::npos);
  EXPECT_NE(refusal({{"w", 0, 6, {-2, -3}}}).find("the shape -2 x -3"), std::string::npos);
}

TEST(TensorLayout, BuilderRefusesExtentsThatNobodyCanCount) {
  TensorLayoutBuilder builder;
  EXPECT_THROW(builder.add("negative", {2, -1}), std::invalid_argument);
  EXPECT_THROW(builder.add("huge", {std::int64_t{1} << 40, std::int64_t{1} << 40}), std::invalid_argument);
}

}  // namespace
}  // namespace kadam
