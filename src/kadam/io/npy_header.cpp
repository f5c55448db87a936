// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/npy_header.hpp>

#include <charconv>
#include <system_error>

namespace kadam::io::detail {
namespace {

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
      fail("a quoted word that ends");
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
    parser.fail("the keys descr, fortran_order and shape, not all found");
  }
  parser.expect_end();
  return header;
}

}  // namespace

std::optional<NpyHeader> parse_npy_header(std::string_view text, NpyHeaderError& error) {
  try {
    return parse(HeaderParser(text));
  } catch (const NpyHeaderError& found) {
    error = found;
    return std::nullopt;
  }
}

std::string npy_header_text(std::span<const std::int64_t> shape) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",), }" : "), }");
}

}  // namespace kadam::io::detail
