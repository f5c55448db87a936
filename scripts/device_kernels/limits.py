# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of the kernels' needs of a GPU, and of their accesses to its memory."""
from dataclasses import dataclass


# Registers of a thread: present needs, rounded up to the unit of 8 in which registers are allocated, or to the next one
# where that is close. Stack and spills: none.
REGISTERS_OF_A_THREAD = {
    "AccumulateLocalMomentum": 64,
    "AdamDirectionOf": 64,
    "AdamStepOf": 80,
    "AddScaledMomentum": 32,
    "ApplyDelayedMean": 24,
    "ClearIfKept": 32,
    "ContinueValues": 32,
    "CountCoordinate": 32,
    "CountZeros": 32,
    "DecayedParametersOf": 64,
    "DecodeBlock float8": 40,
    "DecodeBlock gauss2": 32,
    "DecodeBlock sign WithCopy": 56,
    "DecodeBlock sign": 32,
    "DecodeBlock uniform4": 32,
    "DecodeByteError": 32,
    "DecodeByteMoments": 32,
    "EncodeBlock float8 ContinuedSource": 112,
    "EncodeBlock float8 ElementSource": 96,
    "EncodeBlock float8 MeanOfMessages": 80,
    "EncodeBlock gauss2 ContinuedSource": 104,
    "EncodeBlock gauss2 ElementSource": 104,
    "EncodeBlock gauss2 MeanOfMessages": 96,
    "EncodeBlock sign AlreadyAdded": 80,
    "EncodeBlock sign ContinuedSource bf16": 128,
    "EncodeBlock sign ContinuedSource by tensor": 128,
    "EncodeBlock sign ContinuedSource": 112,
    "EncodeBlock sign ElementSource bf16": 112,
    "EncodeBlock sign ElementSource": 104,
    "EncodeBlock sign MeanOfMessages bf16": 112,
    "EncodeBlock sign MeanOfMessages": 96,
    "EncodeBlock uniform4 ContinuedSource": 112,
    "EncodeBlock uniform4 ElementSource": 96,
    "EncodeBlock uniform4 MeanOfMessages": 88,
    "EncodeByteError": 40,
    "EncodeByteMoments": 40,
    "EncodeTwoLevels": 64,
    "EncodeWithMovingAverageError uniform4": 120,
    "EncodeWithMovingAverageError uniform4 narrow": 80,
    "FillActiveMaskOfTile": 56,
    "FoldCorrections": 24,
    "HashElement": 32,
    "LambApply": 48,
    "LambApplyDirection": 40,
    "LambMoments": 64,
    "LambTrustRatios": 56,
    "ListReaching": 80,
    "MarkPart": 40,
    "MeanOfBlock uniform4": 64,
    "MeanOfBlock uniform4 narrow": 64,
    "MeanOfRows": 40,
    "MeanOfSentBlock": 56,
    "MomentUpdate": 56,
    "MomentsAndDirectionOf": 72,
    "MomentumNorms": 56,
    "OnebitLambApply sign": 88,
    "OnebitLambNorms sign": 96,
    "OnebitLambRatios": 56,
    "OrderedMeanOfElement": 32,
    "RaiseVarianceOfBlock": 48,
    "RoundInto": 48,
    "ScaleElement": 16,
    "ScaleNumbers": 40,
    "SelectBlock": 80,
    "SelectReaching": 96,
    "StepAhead": 48,
    "SubtractMeanOfPart": 48,
    "SumsOfBlock SubtractSum": 56,
    "SumsOfBlock": 56,
    "SumPart MagnitudeOf": 72,
    "SumPart SquareOf": 72,
    "SumPart sign DecodedSquare": 80,
    "SumSquaresOfPanel": 96,
    "TallyLargest": 80,
    "TallyLargestAgain": 80,
    "TallyReaching": 80,
    "UpdateByMean": 40,
    "UpdateByteMoments": 80,
    "UpdateVarianceValues": 56,
    "VarianceLoop": 88,
    "VisitEntry AddEntry": 32,
    "VisitEntry CountSender": 40,
    "VisitEntry SubtractEntry": 32,
    "VisitEntry SubtractSum": 32,
    "WeightDecayOf": 48,
    "WriteWorkingParameters": 56,
}


@dataclass
class Hot:
    """A kernel whose accesses to global memory are counted, and their limits per element."""
    name: str
    pattern: str  # part of its demangled name
    loads: dict  # {bits: accesses per element}
    stores: dict  # None: it does not write per element
    held: int = 0  # elements of a thread in one round of the loop; 0: they follow from the bytes of one element:
    read_bytes: int = 0
    written_bytes: int = 0
    loop: int = 0  # number of its loop, from the heaviest down


# Elements that a thread holds at a time, as in kernels/kadam/kernels/detail/backend.hpp.
HELD = 16
SCALE = 1 / HELD
# With errors in float32, and in bf16.
ENCODE = r"^(?!.*Bfloat16Errors).*EncodeBlock<kadam::SignQuantiser, kadam::detail::"
ENCODE_BF16 = r"^(?=.*Bfloat16Errors).*EncodeBlock<kadam::SignQuantiser, kadam::detail::"
HOT = [
    # x, m, v, g; x, m, v: four elements at a time
    Hot("AdamStepOf", r"AdamStepOf>, kadam::detail::ElementArrays<(kadam::ElementArray<float, true>, ){3}"
        r"kadam::ElementArray<float const, true> ?>", {128: 1}, {128: 0.75}, read_bytes=16, written_bytes=12),
    # error, gradient, the word of the code before, and, where there is a mask, its two words
    Hot("EncodeBlock sign ContinuedSource", ENCODE + "ContinuedSource(?!.*MomentumScaleOf)", {32: 5 + SCALE}, {32: 1 + SCALE}, held=HELD),
    Hot("EncodeBlock sign ContinuedSource bf16", ENCODE_BF16 + "ContinuedSource", {16: 1, 32: 4 + SCALE}, {16: 1, 32: 2 * SCALE},
        held=HELD),
    # error and mask
    Hot("EncodeBlock sign MeanOfMessages", ENCODE + "MeanOfMessages", {32: 3}, {32: 1 + SCALE}, held=HELD),
    # the word of the code
    Hot("EncodeBlock sign MeanOfMessages, for each message", ENCODE + "MeanOfMessages", {32: 1 + SCALE}, None, held=HELD,
        loop=1),
    # the word of the code
    Hot("DecodeBlock sign", r"DecodeBlock<kadam::SignQuantiser, kadam::\(anonymous namespace\)::Store", {32: 1 + SCALE},
        {32: 1}, held=HELD),
    Hot("SelectBlock", r"SelectBlock<", {32: 1}, None, read_bytes=4),
]

# Kernels of the library itself: plain loops over elements, one line each.
OF_THE_LIBRARY = {
    "kadam::CompressedMean::add_owed",
    "kadam::CompressedMean::scale_errors",
    "kadam::DenseSubset::decode",
    "kadam::DenseSubset::exchange",
    "kadam::FrozenVarianceAdam::undo_preconditioning",
    "kadam::FrozenVarianceAdam::write_first_input",
    "kadam::OnebitLamb::average_trust_ratios",
    "kadam::RoundMean::add_owed",
    "kadam::RoundMean::move_into",
    "kadam::RoundMean::scale_errors",
    "kadam::SparseMean::deliver_everything",
    "kadam::WarmupMean::accumulate",
    "kadam::checkpoint::add_stored",
}

# Kernels that tests/device/kernels.cpp does not launch yet: their needs are not known.
NOT_YET = {
    "kadam::accumulate_packed_direction",
    "kadam::add_symmetric",
    "kadam::decode_factors",
    "kadam::encode_factors",
    "kadam::inverse_norm",
    "kadam::largest_step",
    "kadam::multiply_by_left",
    "kadam::multiply_by_right",
    "kadam::orthonormalise",
    "kadam::reduce_factors",
    "kadam::seed_zero_columns",
    "kadam::subtract_low_rank",
    "kadam::take_columns",
}
