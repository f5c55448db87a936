// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/gnuplot.hpp>
#include <report/drawing.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace kadam::report {
namespace {

namespace fs = std::filesystem;

/// A folder that goes with all that is in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "kadam-report-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error(pattern + ": cannot be made");
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string script_of(const Figure& figure) {
  return fmt::format(
             "reset\nset encoding utf8\nset terminal svg size {},{} font 'sans-serif,{}'\n"
             "set output '{}.svg'\n",
             picture_width, figure.height, letter_height, figure.name) +
         figure.commands + "unset output\n";
}

/// Groups without the ids that gnuplot gives them, and the titles behind these.
std::string without_ids(const std::string& svg) {
  constexpr std::string_view group = "<g id=";
  constexpr std::string_view title = "<title>";
  constexpr std::string_view title_end = "</title>";
  std::string text;
  std::size_t done = 0;
  for (std::size_t at = svg.find(group); at != std::string::npos; at = svg.find(group, done)) {
    const std::size_t end = svg.find('>', at);
    if (end == std::string::npos) break;
    text += svg.substr(done, at - done) + "<g>";
    done = end + 1;
    if (svg.compare(done, title.size(), title) != 0) continue;
    const std::size_t titled = svg.find(title_end, done);
    if (titled != std::string::npos) done = titled + title_end.size();
  }
  return text + svg.substr(done);
}

/// What gnuplot has drawn, as an element of a page: named and described for people, without ids that several
/// pictures would share, without gnuplot's symbols, which are not used.
std::string element_of(const Figure& figure, const std::string& file) {
  const std::size_t begin = file.find("<g id=\"gnuplot_canvas\">");
  const std::size_t end = file.rfind("</svg>");
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string inside = file.substr(begin, end - begin);
  const std::size_t symbols = inside.find("<defs>");
  const std::size_t symbols_end = inside.find("</defs>");
  if (symbols != std::string::npos && symbols_end != std::string::npos)
    inside.erase(symbols, symbols_end + 7 - symbols);
  inside = without_ids(inside);
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{}-title {}-text\">\n<title "
      "id=\"{}-title\">{}</title>\n<desc id=\"{}-text\">{}</desc>\n{}</svg>\n",
      picture_width, figure.height, figure.name, figure.name, figure.name, escaped(figure.title), figure.name,
      escaped(figure.description), inside);
}

}  // namespace

bool draw(std::vector<Figure>& figures) try {
  if (figures.empty()) return true;
  const ScratchFolder folder;
  std::string commands;
  for (const Figure& figure : figures) commands += script_of(figure);
  if (!launch::run_gnuplot(folder.path() / "figures.gnuplot", commands)) return false;
  for (Figure& figure : figures) {
    std::ostringstream file;
    file << std::ifstream(folder.path() / (figure.name + ".svg")).rdbuf();
    figure.svg = element_of(figure, file.str());
  }
  return true;
} catch (const std::runtime_error&) {  // no place for its files: tables have to do
  return false;
}

}  // namespace kadam::report
