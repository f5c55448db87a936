// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/html.hpp>

#include <fmt/format.h>

#include <cmath>

namespace kadam::report {
namespace {

std::string cells(const char* open, const char* close, const std::vector<std::string>& texts) {
  std::string html;
  for (const std::string& text : texts) html += open + escaped(text) + close;
  return html;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c == '\0' ? ' ' : c;
    }
  }
  return html;
}

std::string breakable(std::string_view text) {
  std::string html;
  for (const char c : escaped(text)) {
    html += c;
    if (c == '_') html += "<wbr>";
  }
  return html;
}

std::string html_of(const Table& table) {
  std::string html = "<div class=\"table\" tabindex=\"0\"><table aria-label=\"" + escaped(table.name) +
                     "\">\n<thead><tr>" + cells("<th scope=\"col\">", "</th>", table.header) +
                     "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    html += "<tr><th scope=\"row\">" + breakable(row.front()) + "</th>" +
            cells("<td>", "</td>", {row.begin() + 1, row.end()}) + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string html_of(const std::vector<LegendEntry>& legend) {
  std::string html = "<ul class=\"legend\">\n";
  for (const LegendEntry& entry : legend) {
    const std::string shape =
        entry.is_area
            ? fmt::format("<rect width=\"26\" height=\"10\" fill=\"{}\"/>", entry.colour)
            : fmt::format("<path d=\"M0 5H26\" stroke=\"{}\" stroke-width=\"3\" stroke-dasharray=\"{}\"/>",
                          entry.colour, entry.dashes.empty() ? "none" : entry.dashes);
    html += "<li><svg viewBox=\"0 0 26 10\" width=\"26\" height=\"10\" aria-hidden=\"true\">" + shape +
            "</svg> " + escaped(entry.text) + "</li>\n";
  }
  return html + "</ul>\n";
}

std::string number_text(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, digits) : "–";
}

}  // namespace kadam::report
