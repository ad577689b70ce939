"""The closed set of operations: what a node of the language can do."""

from __future__ import annotations

from enum import Enum, auto


class Op(Enum):
    """What a UOp does. Its row in `OP_TABLE` gives its arity, shape, dtype and levels."""

    # Enum hashes by name in Python code; identity is what we mean, and it is much faster.
    __hash__ = object.__hash__

    # leaves
    CONST = auto()
    BUFFER = auto()
    PARAM = auto()
    VARIABLE = auto()
    BIND = auto()
    RANGE = auto()
    SPECIAL = auto()
    IOTA = auto()
    SCRATCH = auto()
    REGISTER = auto()
    STATE = auto()

    # elementwise, one source
    NEG = auto()
    SQRT = auto()
    TRUNC = auto()
    FLOOR = auto()
    CEIL = auto()
    ROUND = auto()
    CAST = auto()
    BITCAST = auto()
    EXP = auto()
    EXP2 = auto()
    EXPM1 = auto()
    LOG = auto()
    LOG2 = auto()
    LOG1P = auto()
    SIN = auto()
    COS = auto()
    TAN = auto()
    ASIN = auto()
    ACOS = auto()
    ATAN = auto()
    SINH = auto()
    COSH = auto()
    TANH = auto()
    ERF = auto()

    # elementwise, two sources
    ADD = auto()
    SUB = auto()
    MUL = auto()
    FDIV = auto()
    FLOORDIV = auto()
    FLOORMOD = auto()
    CDIV = auto()
    CMOD = auto()
    MAX = auto()
    MIN = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    SHL = auto()
    SHR = auto()
    CMPLT = auto()
    CMPLE = auto()
    CMPEQ = auto()
    CMPNE = auto()
    POW = auto()
    THREEFRY = auto()

    # elementwise, three sources
    WHERE = auto()
    FMA = auto()

    # movement
    RESHAPE = auto()
    EXPAND = auto()
    PERMUTE = auto()
    PAD = auto()
    SHRINK = auto()
    FLIP = auto()
    WINDOW = auto()

    # reductions, recurrences, computed addresses
    FOLD = auto()
    REDUCE = auto()
    LOOP = auto()
    SCAN = auto()
    CALL = auto()
    GET = auto()
    INDEX = auto()
    SCATTER = auto()

    # markers and effects
    CONTIGUOUS = auto()
    CONTIGUOUS_BACKWARD = auto()
    DETACH = auto()
    CUSTOM = auto()
    COPY = auto()
    LOAD = auto()
    STORE = auto()
    AFTER = auto()
    END = auto()
    BARRIER = auto()
    PREFETCH = auto()
    SINK = auto()

    # wide values
    SPLAT = auto()
    STACK = auto()
    EXTRACT = auto()
    SHUFFLE = auto()

    def __repr__(self) -> str:
        return f"Op.{self.name}"
