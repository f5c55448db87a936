// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/host_file.hpp>
#include <kadam/io/npy.hpp>
#include <kadam/io/npy_header.hpp>

#include <array>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>

namespace kadam::io {
namespace {

static_assert(std::endian::native == std::endian::little, "kadam::io writes float32 as it lies in memory");

constexpr std::string_view magic = "\x93NUMPY";

/// The number of elements; nothing when it is not below 2^61.
std::optional<std::uint64_t> elements_of(std::span<const std::int64_t> shape) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      return std::nullopt;
    }
    const auto factor = static_cast<std::uint64_t>(extent);
    if (factor != 0 && elements > (std::uint64_t{1} << 61) / factor) {
      return std::nullopt;
    }
    elements *= factor;
  }
  return elements;
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = (value << 8) | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return value;
}

std::string read_header_text(detail::HostFileReader& file) {
  std::array<std::byte, 8> start{};
  file.read(start, "magic and version");
  for (std::size_t i = 0; i < magic.size(); ++i) {
    if (std::to_integer<unsigned char>(start[i]) != static_cast<unsigned char>(magic[i])) {
      file.fail(i, "the bytes \\x93NUMPY of a .npy file");
    }
  }
  const int major = std::to_integer<int>(start[6]);
  const int minor = std::to_integer<int>(start[7]);
  if ((major != 1 && major != 2) || minor != 0) {
    file.fail(6, "version 1.0 or 2.0, found " + std::to_string(major) + "." + std::to_string(minor));
  }
  std::array<std::byte, 4> length{};
  const std::span<std::byte> used(length.data(), major == 1 ? 2 : 4);
  file.read(used, "header length");
  const std::uint64_t bytes = little_endian(used);
  if (bytes > file.bytes_left()) {
    file.fail(8, "a header length of at most " + std::to_string(file.bytes_left()) + ", found " +
                     std::to_string(bytes));
  }
  std::string text(static_cast<std::size_t>(bytes), '\0');
  file.read(std::as_writable_bytes(std::span(text)), "header");
  return text;
}

std::vector<std::int64_t> read_shape(detail::HostFileReader& file) {
  const std::string text = read_header_text(file);
  const std::uint64_t begin = file.offset() - text.size();
  detail::NpyHeaderError error;
  const std::optional<detail::NpyHeader> header = detail::parse_npy_header(text, error);
  if (!header) {
    file.fail(begin + error.offset, error.expected);
  }
  if (header->element_type != "<f4") {
    file.fail(begin, "element type '<f4' (little-endian float32), found '" + header->element_type + "'");
  }
  if (header->fortran_order) {
    file.fail(begin, "'fortran_order': False: write it with numpy.ascontiguousarray");
  }
  return header->shape;
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& path) {
  detail::HostFileReader file(path);
  NpyArray array{read_shape(file), {}};
  const std::optional<std::uint64_t> elements = elements_of(array.shape);
  if (!elements || file.bytes_left() != *elements * sizeof(float)) {
    file.fail(file.offset(),
              (elements ? std::to_string(*elements * sizeof(float)) : std::string("less than 2^63")) +
                  " bytes of elements as the shape says, found " + std::to_string(file.bytes_left()));
  }
  array.values.resize(static_cast<std::size_t>(*elements));
  file.read(std::as_writable_bytes(std::span(array.values)), "elements");
  return array;
}

void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
               std::span<const float> values) {
  const std::optional<std::uint64_t> elements = elements_of(shape);
  if (!elements || *elements != values.size()) {
    throw std::invalid_argument("kadam::io::write_npy: " + std::to_string(values.size()) +
                                " values for shape " + detail::npy_header_text(shape) +
                                ", expected the product of its extents");
  }
  constexpr std::size_t alignment = 64;
  const std::size_t start = magic.size() + 4;
  std::string header = detail::npy_header_text(shape);
  const std::size_t total = (start + header.size() + 1 + alignment - 1) / alignment * alignment;
  if (total - start > std::numeric_limits<std::uint16_t>::max()) {
    throw std::invalid_argument("kadam::io::write_npy: a shape of " + std::to_string(shape.size()) +
                                " extents, expected a header below 64 KiB");
  }
  header.resize(total - start - 1, ' ');
  header += '\n';
  const std::size_t length = header.size();
  std::string bytes(magic);
  bytes += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};

  detail::HostFileWriter file(path);
  file.write(bytes + header);
  file.write(std::as_bytes(values));
  file.commit();
}

}  // namespace kadam::io
