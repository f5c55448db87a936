// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/picture.hpp>
#include <kadam/io/npy.hpp>
#include <launch/gnuplot.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace kadam::insitu {
namespace {

constexpr std::size_t drawn = 1;  // v, which is the last one in the files

void write_field(const std::filesystem::path& path, const HostField& field) {
  const std::vector<float> values(field.data(), field.data() + field.size());
  const std::array<std::int64_t, 3> shape = {species, static_cast<std::int64_t>(field.extent(1)),
                                             static_cast<std::int64_t>(field.extent(2))};
  io::write_npy(path, shape, values);
}

HostField difference_of(const UnseenTime& unseen) {
  const HostField difference("kadam-insitu::difference", unseen.truth.extent(0), unseen.truth.extent(1),
                             unseen.truth.extent(2));
  for (std::size_t i = 0; i < difference.size(); ++i) {
    difference.data()[i] = unseen.prediction.data()[i] - unseen.truth.data()[i];
  }
  return difference;
}

/// The largest magnitude of what is drawn.
double largest_of(const HostField& field) {
  const std::size_t cells = field.extent(1) * field.extent(2);
  const double* const begin = field.data() + drawn * cells;
  const auto is_smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
  return std::max(1e-12, std::abs(*std::max_element(begin, begin + cells, is_smaller)));
}

constexpr const char* style = R"(set size ratio -1
unset key
set border lw 0.75 lc rgb '#555555'
set tics out scale 0.5 nomirror font ',11' tc rgb '#333333'
set xlabel 'x' offset 0,0.4
set cblabel offset 0,0.5
set tmargin at screen top
set bmargin at screen bottom
set multiplot
)";

constexpr const char* value_colours =
    "set palette defined (0 '#440154', 0.13 '#472f7d', 0.25 '#39568c', 0.38 '#2a788e', 0.5 '#1f988b', "
    "0.63 '#35b779', 0.75 '#7ad151', 0.88 '#bddf26', 1 '#fde725')\n";
constexpr const char* difference_colours =
    "set palette defined (-1 '#2166ac', -0.5 '#92c5de', 0 '#f7f7f7', 0.5 '#f4a582', 1 '#b2182b')\n";

/// Left and right edge of a panel, as parts of the picture's width.
struct Edges {
  double left;
  double right;
};

/// A field out of its .npy file, whose header `skip` leaves out together with u.
std::string panel(const char* file, const Edges& edges, const std::string& title) {
  return fmt::format(
      "set lmargin at screen {:.3f}\nset rmargin at screen {:.3f}\nset title \"{}\" font ',14' offset "
      "0,-0.2\n"
      "plot '{}.npy' binary skip=skip array=(columns,rows) dx=h dy=h origin=(h/2,h/2) format='%float' with "
      "image\n",
      edges.left, edges.right, title, file);
}

std::string colour_bar(const Edges& edges, double least, double most, const char* label) {
  return fmt::format(
      "set cbrange [{:.6g}:{:.6g}]\nset cblabel '{}'\n"
      "set colorbox horizontal user origin {:.3f},bar size {:.3f},0.03\n",
      least, most, label, edges.left, edges.right - edges.left);
}

std::string canvas(const UnseenTime& unseen, std::size_t skip) {
  const auto columns = static_cast<double>(unseen.truth.extent(2));
  const auto rows = static_cast<double>(unseen.truth.extent(1));
  constexpr double panel_width = 384.0;  // 0.29 of the whole width
  const double height = panel_width * rows / columns + 184.0;
  return fmt::format(
      "set terminal pngcairo size 1324,{:.0f} font 'sans,12' background rgb 'white'\nset output "
      "'unseen.png'\n"
      "columns = {}\nrows = {}\nh = {:.6g}\nskip = {}\ntop = {:.4f}\nbottom = {:.4f}\nbar = {:.4f}\n"
      "set xrange [0:columns*h]\nset yrange [0:rows*h]\n",
      height, columns, rows, unseen.spacing, skip, 1.0 - 42.0 / height, 142.0 / height, 62.0 / height);
}

std::string script_of(const UnseenTime& unseen, const HostField& difference, std::size_t skip) {
  constexpr Edges left = {0.048, 0.338};
  constexpr Edges middle = {0.368, 0.658};
  constexpr Edges right = {0.694, 0.984};
  const double largest = largest_of(difference);
  std::string text = canvas(unseen, skip) + style + value_colours;
  text += colour_bar({left.left, middle.right}, 0.0, largest_of(unseen.truth), "v");
  text +=
      "set ylabel 'y' offset 1.7,0\n" + panel("truth", left, fmt::format("solver, time {:.6g}", unseen.time));
  text += "unset ylabel\nset format y ''\nunset colorbox\n";
  text += panel("prediction", middle, fmt::format("surrogate alone since time {:.6g}", unseen.trained_until));
  text += difference_colours + colour_bar(right, -largest, largest, "surrogate - solver");
  text += panel("difference", right,
                fmt::format("difference; error {:.2g} %, unchanged {:.2g} %", 100.0 * unseen.error,
                            100.0 * unseen.unchanged));
  return text + "unset multiplot\n";
}

}  // namespace

bool write_picture(const std::filesystem::path& folder, const UnseenTime& unseen) {
  const HostField difference = difference_of(unseen);
  write_field(folder / "truth.npy", unseen.truth);
  write_field(folder / "prediction.npy", unseen.prediction);
  write_field(folder / "difference.npy", difference);
  const std::size_t drawn_bytes = difference.extent(1) * difference.extent(2) * sizeof(float);
  const std::size_t skip = std::filesystem::file_size(folder / "difference.npy") - drawn_bytes;
  return launch::run_gnuplot(folder / "unseen.gnuplot", script_of(unseen, difference, skip));
}

}  // namespace kadam::insitu
