// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes that docs/wire_format.md shows are those that the kernels write.
#include <wire/worked_examples.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace kadam {
namespace {

TEST(WireFormatPage, ShowsTheBytesThatAreSent) {
  std::ifstream file(KADAM_WIRE_FORMAT_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& line :
       {"1 bit, mean_abs    " + test::example_of_codes(SignQuantiser{SignScale::mean_abs}),
        "4 bits             " + test::example_of_codes(UniformQuantiser<4>{}),
        "float8             " + test::example_of_codes(Float8Quantiser{}),
        "gauss2             " + test::example_of_codes(Gauss2Quantiser{}),
        "8 bits             " + test::example_of_factors(UniformQuantiser<8>{}),
        "k = 2, w = 2       " + test::example_of_largest_entries(),
        "two magnitudes     " + test::example_of_two_levels()}) {
    EXPECT_NE(page.find("\n" + line + "\n"), std::string::npos) << KADAM_WIRE_FORMAT_PAGE << " lacks\n"
                                                                << line;
  }
}

}  // namespace
}  // namespace kadam
