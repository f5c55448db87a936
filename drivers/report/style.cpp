// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/style.hpp>

namespace kadam::report {

const char* const style_sheet = R"css(
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 0 1rem 3rem; max-width: 68rem; background: #fff; color: #1a1a1a;
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1.5rem 0 1rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: .5rem; border-top: 1px solid #ccc; }
h3 { font-size: 1rem; margin: 0 0 .25rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0; }
dt { color: #555; }
dd { margin: 0; min-width: 0; }
.table { overflow-x: auto; margin: .75rem 0; }
.note { font-size: .875rem; color: #444; margin: 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid #ddd; vertical-align: bottom; }
th { font-weight: 600; }
td, tbody th { white-space: nowrap; }
.table wbr { display: none; }
tbody th, thead th:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 2rem; }
figure { margin: 0; min-width: 0; break-inside: avoid; }
figure > svg { display: block; width: 100%; max-width: 36rem; height: auto; }
figcaption { font-size: .875rem; color: #444; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .25rem 0; padding: 0;
  font-size: .875rem; color: #1a1a1a; }
.legend svg { vertical-align: baseline; }
.remarks { padding-left: 1.2rem; }
.warnings { border-left: 4px solid #d55e00; padding: .1rem 0 .1rem .8rem; }
.warnings ul { margin: 0; padding-left: 1.2rem; }
details { margin: .5rem 0; }
summary { cursor: pointer; }
pre { margin: .5rem 0; padding: .75rem; background: #f5f5f5; font: 13px/1.45 ui-monospace, monospace;
  overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; }
  tbody th { max-width: 8.5rem; white-space: normal; }
  .table wbr { display: inline; }
}
@media print {
  @page { margin: 15mm; }
  body { max-width: none; padding: 0; font-size: 10pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2, h3 { break-after: avoid; }
  .table { overflow: visible; }
  table { font-size: 8pt; }
  .figures { grid-template-columns: 1fr 1fr; gap: 1.5rem 1rem; }
  .numbers { display: none; }
  details::details-content { display: block; content-visibility: visible; block-size: auto; }
  pre { background: none; border: 1px solid #ccc; font-size: 8pt; }
  .configuration pre { columns: 2; }
}
)css";

}  // namespace kadam::report
