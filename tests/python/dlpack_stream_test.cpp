// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/python/dlpack_stream.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace kadam::test::dlpack_stream_test {
namespace {

using python::dlpack_stream;
using Device = python::DeviceType;

constexpr python::StreamHandle handle = 0x7f12'3456'7890;

TEST(DlpackStream, OfCudaIsTheHandleAndNeverZero) {
  for (const Device device : {Device::cuda, Device::cuda_managed}) {
    EXPECT_EQ(dlpack_stream(device, 0), 1);  // the legacy default stream
    EXPECT_EQ(dlpack_stream(device, 1), 1);
    EXPECT_EQ(dlpack_stream(device, 2), 2);  // the default stream of the thread
    EXPECT_EQ(dlpack_stream(device, handle), 0x7f12'3456'7890);
  }
}

TEST(DlpackStream, OfRocmIsTheHandleAndNeverOneOrTwo) {
  EXPECT_EQ(dlpack_stream(Device::rocm, 0), 0);
  EXPECT_EQ(dlpack_stream(Device::rocm, 1), 0);
  EXPECT_EQ(dlpack_stream(Device::rocm, 2), std::nullopt);
  EXPECT_EQ(dlpack_stream(Device::rocm, handle), 0x7f12'3456'7890);
}

TEST(DlpackStream, IsNoneOnTheHostAndElsewhere) {
  constexpr auto metal = static_cast<Device>(8);
  for (const Device device : {Device::cpu, Device::cuda_host, Device::rocm_host, metal}) {
    EXPECT_EQ(dlpack_stream(device, 0), std::nullopt);
    EXPECT_EQ(dlpack_stream(device, handle), std::nullopt);
  }
}

}  // namespace
}  // namespace kadam::test::dlpack_stream_test
