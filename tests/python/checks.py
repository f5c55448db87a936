# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the Python module share."""
import ctypes

import kadam

from expect import expect


def refuses(kind, words, call, *arguments, **named):
    """The call raises this kind of exception, with these words in it."""
    try:
        call(*arguments, **named)
    except Exception as error:  # whatever it is, it is looked at
        expect(type(error) is kind and words in str(error), f"expected {kind.__name__} with '{words}', got",
               type(error).__name__, error)
    else:
        expect(False, f"nothing was refused; expected {kind.__name__} with '{words}'")


def warmup_of(name, steps):
    """The options of an optimizer for a warm-up of so many steps; none where it has no warm-up."""
    return {option: steps for option in ("warmup_steps", "variance_freeze_step") if option in kadam.options(name)}


def rounds_of(name, **options):
    """Those of these options that an optimizer with rounds has; none where it has no rounds."""
    return {option: value for option, value in options.items() if option in kadam.options(name)}


def needed_warmup_of(name, steps):
    """The same, for an optimizer that does not do without."""
    try:
        kadam.Optimizer(name, {"x": 1}, allow_alone=True)
    except ValueError:
        return warmup_of(name, steps)
    return {}


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Declared:
    """Memory of a NumPy array that DLPack declares to be something else: of a type that NumPy has not, on a device."""
    CPU, CUDA, ROCM = 1, 2, 10
    FLOAT, BFLOAT = 2, 4

    def __init__(self, array, code=FLOAT, device=CPU):
        self.array = array
        self.shape = (ctypes.c_int64 * 1)(array.size)
        self.tensor = DLTensor(array.ctypes.data, device, 0, 1, code, 8 * array.itemsize, 1, self.shape)

    def __dlpack__(self, **named):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return self.tensor.device_type, 0
