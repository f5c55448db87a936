# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adam optimizers for data-parallel training over MPI that send a fraction of a gradient.

Optimizer works on flat arrays; kadam.torch.Optimizer takes the place of a torch.optim.Optimizer. docs/embedding.md
shows both at work.
"""
from ._kadam import Optimizer, Restored, StepResult, __version__, execution_space, optimizers, options

__all__ = ["Optimizer", "Restored", "StepResult", "__version__", "execution_space", "optimizers", "options"]
