// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/host_file.hpp>
#include <kadam/io/npy.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace kadam::io {
namespace {

static_assert(std::endian::native == std::endian::little, "kadam::io writes float32 as it lies in memory");

constexpr std::string_view magic = "\x93NUMPY";

/// The contents of a .npy header: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
struct NpyHeader {
  std::string element_type;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Where and why a header is malformed.
struct NpyHeaderError {
  std::size_t offset = 0;  ///< in the header
  std::string expected;
};

/// A cursor over the header; throws NpyHeaderError, which does not leave this file.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  [[nodiscard]] bool accept(char wanted) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == wanted) {
      ++at_;
      return true;
    }
    return false;
  }

  void require(char wanted) {
    if (!accept(wanted)) {
      fail(std::string("'") + wanted + "' in the header");
    }
  }

  [[nodiscard]] std::string quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') {
      fail("a quoted word in the header");
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      fail("a quotation mark at the end of the word");
    }
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }

  [[nodiscard]] bool boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    fail("True or False");
  }

  [[nodiscard]] std::int64_t extent() {
    skip_space();
    std::int64_t value = -1;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) {
      fail("an extent of 0 to 2^63 - 1");
    }
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  [[nodiscard]] std::vector<std::int64_t> extents() {
    std::vector<std::int64_t> shape;
    require('(');
    while (!accept(')')) {
      shape.push_back(extent());
      if (!accept(',')) {
        if (shape.size() == 1) {
          fail("a comma after the only extent");
        }
        require(')');
        break;
      }
    }
    return shape;
  }

  void expect_end() {
    skip_space();
    if (at_ != text_.size()) {
      fail("nothing after the header's dictionary");
    }
  }

  [[noreturn]] void fail(std::string expected) const { throw NpyHeaderError{at_, std::move(expected)}; }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

NpyHeader parse(HeaderParser parser) {
  NpyHeader header;
  bool seen[3] = {};
  parser.require('{');
  while (!parser.accept('}')) {
    const std::string key = parser.quoted();
    const int index = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
    if (index == 3 || seen[index]) {
      parser.fail("the keys descr, fortran_order and shape, once each, found '" + key + "'");
    }
    seen[index] = true;
    parser.require(':');
    if (index == 0) {
      header.element_type = parser.quoted();
    } else if (index == 1) {
      header.fortran_order = parser.boolean();
    } else {
      header.shape = parser.extents();
    }
    if (!parser.accept(',')) {
      parser.require('}');
      break;
    }
  }
  if (!(seen[0] && seen[1] && seen[2])) {
    parser.fail("the keys descr, fortran_order and shape, found only some of them");
  }
  parser.expect_end();
  return header;
}

/// Parses the dictionary: exactly the three keys, in any order, and white space after it.
/// Returns nothing and fills `error` when it is malformed.
std::optional<NpyHeader> parse_npy_header(std::string_view text, NpyHeaderError& error) {
  try {
    return parse(HeaderParser(text));
  } catch (const NpyHeaderError& found) {
    error = found;
    return std::nullopt;
  }
}

/// The dictionary as NumPy writes it, without padding.
std::string npy_header_text(std::span<const std::int64_t> shape) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",), }" : "), }");
}

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
  NpyHeaderError error;
  const std::optional<NpyHeader> header = parse_npy_header(text, error);
  if (!header) {
    file.fail(begin + error.offset, error.expected);
  }
  if (header->element_type != "<f4") {
    file.fail(begin, "element type '<f4' (little-endian float32), found '" + header->element_type + "'");
  }
  if (header->fortran_order) {
    file.fail(begin,
              "'fortran_order': False, found True: convert the array with numpy.ascontiguousarray and save "
              "it again");
  }
  return header->shape;
}

/// Everything before the elements: magic, version, length and dictionary, padded to a multiple of 64 bytes.
std::string npy_head(std::span<const std::int64_t> shape) {
  constexpr std::size_t alignment = 64;
  const std::size_t start = magic.size() + 4;
  std::string header = npy_header_text(shape);
  const std::size_t total = (start + header.size() + 1 + alignment - 1) / alignment * alignment;
  if (total - start > std::numeric_limits<std::uint16_t>::max()) {
    throw std::invalid_argument("kadam::io::NpyWriter: expected a shape with a header below 64 KiB, got " +
                                std::to_string(shape.size()) + " extents");
  }
  header.resize(total - start - 1, ' ');
  header += '\n';
  const std::size_t length = header.size();
  std::string head(magic);
  head += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return head + header;
}

std::uint64_t byte_of(std::uint64_t begin, std::int64_t element) {
  return begin + static_cast<std::uint64_t>(element) * sizeof(float);
}

}  // namespace

NpyReader::NpyReader(const std::filesystem::path& path, bool may_be_longer)
    : file_(path), shape_(read_shape(file_)), begin_(file_.offset()) {
  const std::optional<std::uint64_t> elements = elements_of(shape_);
  const std::uint64_t found = file_.bytes_left();
  const bool fits =
      elements && (may_be_longer ? found >= *elements * sizeof(float) : found == *elements * sizeof(float));
  if (!fits) {
    file_.fail(begin_,
               (elements ? std::to_string(*elements * sizeof(float)) : std::string("less than 2^63")) +
                   " bytes of elements as the shape says, found " + std::to_string(found));
  }
  elements_ = static_cast<std::int64_t>(*elements);
}

void NpyReader::read(std::int64_t first, std::span<float> values) {
  file_.seek(byte_of(begin_, first));
  file_.read(std::as_writable_bytes(values), "elements");
}

NpyArray read_npy(const std::filesystem::path& path) {
  NpyReader reader(path);
  NpyArray array{reader.shape(), std::vector<float>(static_cast<std::size_t>(reader.elements()))};
  reader.read(0, array.values);
  return array;
}

NpyWriter::NpyWriter(const std::filesystem::path& path, std::span<const std::int64_t> shape) : file_(path) {
  const std::optional<std::uint64_t> elements = elements_of(shape);
  if (!elements) {
    throw std::invalid_argument("kadam::io::NpyWriter: shape " + npy_header_text(shape) +
                                ", expected extents of 0 or more with a product below 2^61");
  }
  file_.write(npy_head(shape));
  begin_ = file_.bytes_written();
  elements_ = static_cast<std::int64_t>(*elements);
}

void NpyWriter::write(std::int64_t first, std::span<const float> values) {
  file_.seek(byte_of(begin_, first));
  file_.write(std::as_bytes(values));
}

void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
               std::span<const float> values) {
  NpyWriter writer(path, shape);
  if (writer.elements() != static_cast<std::int64_t>(values.size())) {
    throw std::invalid_argument("kadam::io::write_npy: " + std::to_string(values.size()) +
                                " values for shape " + npy_header_text(shape) +
                                ", expected the product of its extents");
  }
  writer.write(0, values);
  writer.commit();
}

}  // namespace kadam::io
