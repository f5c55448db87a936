# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page in headless Chromium: nothing on the console, no overflow on a phone, pictures have a size.

browser_test.py KADAM_REPORT; exit code 77 where there is no Chromium.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import made_runs
from expect import expect
from reporter import Reporter

# A frame of a phone's width, whose measures are written into the page around it.
FRAME = """<!doctype html><meta charset="utf-8"><title>frame</title>
<iframe id="page" style="border:0;width:{width}px;height:800px" src="{page}"></iframe><pre id="measures"></pre>
<script>
document.getElementById("page").onload = event => {{
  const page = event.target.contentDocument;
  const sizes = [...page.querySelectorAll("figure > svg")].map(svg => svg.getBoundingClientRect());
  document.getElementById("measures").textContent = JSON.stringify({{
    width: page.documentElement.scrollWidth,
    pictures: sizes.map(size => [size.width, size.height, size.right]),
    letters: Math.min(...[...page.querySelectorAll("figure > svg text")].map(
      text => text.getBoundingClientRect().height)),
    outside: [...page.querySelectorAll("figure > svg text")].filter(text => {{
      const own = text.getBoundingClientRect(), all = text.closest("svg").getBoundingClientRect();
      return own.left < all.left - 1 || own.right > all.right + 1 || own.bottom > all.bottom + 1;
    }}).map(text => text.textContent),
    legends: [...page.querySelectorAll(".legend")].map(legend => legend.getBoundingClientRect().right),
  }});
}};
</script>
"""


def measures_of(chromium, folder, page, width):
    frame = folder / f"frame-{width}.html"
    frame.write_text(FRAME.format(width=width, page=page.as_uri()))
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               f"--user-data-dir={folder / 'profile'}", "--allow-file-access-from-files", "--enable-logging=stderr",
               "--virtual-time-budget=10000", "--dump-dom", frame.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    expect(done.returncode == 0 and not console, "Chromium:", done.returncode, *console)
    found = re.search(r'<pre id="measures">(\{.*?\})</pre>', done.stdout)
    expect(found, "no measures in", done.stdout[-500:], done.stderr[-500:])
    return json.loads(found[1])


browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if browser is None:
    print("skipped: there is no Chromium to look at the page with (Debian: apt-get install chromium)")
    sys.exit(77)
os.environ.setdefault("HOME", tempfile.gettempdir())
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
    folder = pathlib.Path(name)
    names = ["adam", "lamb", "onebit_adam", "zero_one_adam", "locally_accumulated_adam"]
    made_runs.write_comparison(folder / "runs", optimizers=[*names, "an_optimizer_with_a_long_name"])
    made_runs.write_timeline(folder / "runs/adam")
    Reporter(sys.argv[1]).page(folder / "page.html", folder / "runs")
    for width in (360, 1200):
        seen = measures_of(browser, folder, folder / "page.html", width)
        expect(seen["width"] <= width, f"the page is {seen['width']} wide on {width}")
        expect(len(seen["pictures"]) == 7, seen)
        expect(all(w > 0.6 * 360 and h > 100 and right <= width for w, h, right in seen["pictures"]), seen)
        expect(seen["letters"] >= 10, "letters are small:", seen)
        expect(all(right <= width for right in seen["legends"]), seen)
        expect(not seen["outside"], "letters outside of their picture:", seen)
