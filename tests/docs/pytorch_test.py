# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/pytorch.md names each function of the test of kadam.torch, and no other: pytorch_test.py ROOT"""
import ast
import re
import sys

from pages import end, prose, root_of

root = root_of(sys.argv[1])
test = root / "tests" / "python" / "torch_optimizer_test.py"
# Rows are its functions without arguments.
rows = {part.name for part in ast.parse(test.read_text()).body
        if isinstance(part, ast.FunctionDef) and not part.args.args}
named = re.findall(r"^\|.*\| `(\w+)` \|$", prose(root / "docs" / "pytorch.md"), re.M)
mistakes = [f"docs/pytorch.md does not name {row}()" for row in sorted(rows - set(named))]
mistakes += [f"docs/pytorch.md names {name}(), which is not tested" for name in named if name not in rows]
mistakes += [f"docs/pytorch.md names {name}() twice" for name in sorted(set(named)) if named.count(name) > 1]
end(mistakes, len(named))
