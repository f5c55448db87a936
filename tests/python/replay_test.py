# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All optimizers take the same steps through Python as kadam-replay takes through C++, to the last bit:
replay_test.py FOLDER_OF_CASES REPLAY LAUNCHER..."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from expect import expect

cases, replay, launcher = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
steps = pathlib.Path(__file__).with_name("replay_cases.py")
with tempfile.TemporaryDirectory() as name:
    out = pathlib.Path(name)
    subprocess.run([*launcher, "3", sys.executable, steps, cases, out], check=True)
    written = sorted(out.glob("*.npy"))
    expect(len(written) >= 10, "cases of 3 ranks:", written)
    for path in written:
        other = out / "replayed"
        subprocess.run([*launcher, "3", replay, "--case", cases / path.stem, "--out", other], check=True)
        got, expected = np.load(path), np.load(other)
        expect(got.shape == expected.shape and got.tobytes() == expected.tobytes(), path.stem, "is another trajectory")
        expect(np.abs(got[0, -1] - got[0, 0]).max() > 0, path.stem, "does not move")
