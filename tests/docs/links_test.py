# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pages link to exists, headings included, and each page is reached from docs/index.md: links_test.py ROOT"""
import re
import sys

from pages import anchors, end, pages, prose, root_of

root = root_of(sys.argv[1])
mistakes = []
targets = {}
checked = 0
for page in pages(root):
    targets[page] = set()
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", prose(page)):
        checked += 1
        file = (page.parent / target).resolve() if target else page
        if not file.exists():
            mistakes.append(f"{page.relative_to(root)} links to {target}, which does not exist")
        elif anchor and anchor not in anchors(re.findall(r"^#+ +(.+)$", prose(file), re.M)):
            mistakes.append(f"{page.relative_to(root)} links to {target}#{anchor}: there is no such heading")
        targets[page].add(file)

reached, todo = set(), [root / "docs" / "index.md"]
while todo:
    page = todo.pop()
    if page not in reached and page in targets:
        reached.add(page)
        todo += targets[page]
mistakes += [f"nothing leads to {page.relative_to(root)}" for page in targets if page not in reached]
end(mistakes, checked)
