# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of the kernels' needs of a GPU, and of their accesses to its memory."""
from dataclasses import dataclass


@dataclass
class Limit:
    registers: int  # per thread
    stack: int = 0  # bytes
    spills: int = 0  # bytes


# Present needs, rounded up to the unit of 8 in which registers are allocated, or to the next one where that is close.
LIMITS = {
    "AccumulateLocalMomentum": Limit(64),
    "AdamDirectionOf": Limit(64),
    "AdamStepOf": Limit(80),
    "AddScaledMomentum": Limit(32),
    "ApplyDelayedMean": Limit(24),
    "ClearIfKept": Limit(32),
    "ContinueValues": Limit(32),
    "CountCoordinate": Limit(32),
    "CountZeros": Limit(32),
    "DecayedParametersOf": Limit(64),
    "DecodeBlock float8": Limit(40),
    "DecodeBlock gauss2": Limit(32),
    "DecodeBlock sign WithCopy": Limit(56),
    "DecodeBlock sign": Limit(32),
    "DecodeBlock uniform4": Limit(32),
    "DecodeByteError": Limit(32),
    "DecodeByteMoments": Limit(32),
    "EncodeBlock float8 ContinuedSource": Limit(112),
    "EncodeBlock float8 ElementSource": Limit(96),
    "EncodeBlock float8 MeanOfMessages": Limit(80),
    "EncodeBlock gauss2 ContinuedSource": Limit(104),
    "EncodeBlock gauss2 ElementSource": Limit(104),
    "EncodeBlock gauss2 MeanOfMessages": Limit(96),
    "EncodeBlock sign AlreadyAdded": Limit(80),
    "EncodeBlock sign ContinuedSource bf16": Limit(128),
    "EncodeBlock sign ContinuedSource by tensor": Limit(128),
    "EncodeBlock sign ContinuedSource": Limit(112),
    "EncodeBlock sign ElementSource bf16": Limit(112),
    "EncodeBlock sign ElementSource": Limit(104),
    "EncodeBlock sign MeanOfMessages bf16": Limit(112),
    "EncodeBlock sign MeanOfMessages": Limit(96),
    "EncodeBlock uniform4 ContinuedSource": Limit(112),
    "EncodeBlock uniform4 ElementSource": Limit(96),
    "EncodeBlock uniform4 MeanOfMessages": Limit(88),
    "EncodeByteError": Limit(40),
    "EncodeByteMoments": Limit(40),
    "EncodeTwoLevels": Limit(64),
    "EncodeWithMovingAverageError uniform4": Limit(120),
    "EncodeWithMovingAverageError uniform4 narrow": Limit(80),
    "FillActiveMaskOfTile": Limit(56),
    "FoldCorrections": Limit(24),
    "HashElement": Limit(32),
    "LambApply": Limit(48),
    "LambMoments": Limit(64),
    "LambTrustRatios": Limit(56),
    "ListReaching": Limit(80),
    "MarkPart": Limit(40),
    "MeanOfBlock uniform4": Limit(64),
    "MeanOfBlock uniform4 narrow": Limit(64),
    "MeanOfRows": Limit(40),
    "MeanOfSentBlock": Limit(56),
    "MomentUpdate": Limit(56),
    "MomentsAndDirectionOf": Limit(72),
    "MomentumNorms": Limit(56),
    "OnebitLambApply sign": Limit(88),
    "OnebitLambNorms sign": Limit(96),
    "OnebitLambRatios": Limit(56),
    "OrderedMeanOfElement": Limit(32),
    "RaiseVarianceOfBlock": Limit(48),
    "RoundInto": Limit(48),
    "ScaleElement": Limit(16),
    "ScaleNumbers": Limit(40),
    "SelectBlock": Limit(80),
    "SelectReaching": Limit(96),
    "StepAhead": Limit(48),
    "SubtractMeanOfPart": Limit(48),
    "SumsOfBlock SubtractSum": Limit(56),
    "SumsOfBlock": Limit(56),
    "SumPart MagnitudeOf": Limit(72),
    "SumPart SquareOf": Limit(72),
    "SumPart sign DecodedSquare": Limit(80),
    "SumSquaresOfPanel": Limit(96),
    "TallyLargest": Limit(80),
    "TallyLargestAgain": Limit(80),
    "TallyReaching": Limit(80),
    "UpdateByMean": Limit(24),
    "UpdateByteMoments": Limit(80),
    "UpdateVarianceValues": Limit(56),
    "VarianceLoop": Limit(88),
    "VisitEntry AddEntry": Limit(32),
    "VisitEntry CountSender": Limit(40),
    "VisitEntry SubtractEntry": Limit(32),
    "VisitEntry SubtractSum": Limit(32),
    "WeightDecayOf": Limit(48),
    "WriteWorkingParameters": Limit(56),
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
    "kadam::ZeroOneAdam::synchronise_exactly",
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
