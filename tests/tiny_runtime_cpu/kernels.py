"""Kernels written by hand, in LLVM IR and in C, that the tests of this folder compile and run."""

from tiny_ir import UOp, dtypes
from tiny_plugin import Argument, Binary, Estimates, Program, Source, Target, Variable
from tiny_runtime_cpu.compiler import CCompiler, LlvmCompiler

BIG = Estimates(operations=10**9, nbytes=10**9)
"""Enough to be shared among threads."""

SMALL = Estimates(operations=4, nbytes=32)
"""Not worth waking anyone."""

# Each chunk adds one to 16 floats.
ADD_ONE = """
define void @add_one(ptr %args, i64 %chunk, i64 %worker) {
  %p = load ptr, ptr %args
  %o = mul i64 %chunk, 64
  %q = getelementptr i8, ptr %p, i64 %o
  %v = load <16 x float>, ptr %q, align 64
  %w = fadd <16 x float> %v, splat (float 1.0)
  store <16 x float> %w, ptr %q, align 64
  ret void
}
"""

# out[chunk] = out[chunk] * 3 + chunk + value: a different result in any other order of kernels.
MIX = """
define void @mix(ptr %args, i64 %chunk, i64 %worker) {
  %p = load ptr, ptr %args
  %at = getelementptr i8, ptr %args, i64 8
  %value = load i64, ptr %at
  %q = getelementptr i64, ptr %p, i64 %chunk
  %a = load i64, ptr %q
  %b = mul i64 %a, 3
  %c = add i64 %b, %chunk
  %d = add i64 %c, %value
  store i64 %d, ptr %q
  ret void
}
"""

# Writes its chunk number into 1000 words of scratch, then adds them up into out[chunk].
SCRATCH_SUM = """
define void @scratch_sum(ptr %args, i64 %chunk, i64 %worker) {
begin:
  %p = load ptr, ptr %args
  %at = getelementptr i8, ptr %args, i64 8
  %all = load ptr, ptr %at
  %offset = mul i64 %worker, 8000
  %mine = getelementptr i8, ptr %all, i64 %offset
  br label %write
write:
  %i = phi i64 [ 0, %begin ], [ %i.more, %write ]
  %w = getelementptr i64, ptr %mine, i64 %i
  store i64 %chunk, ptr %w
  %i.more = add i64 %i, 1
  %writing = icmp ult i64 %i.more, 1000
  br i1 %writing, label %write, label %read
read:
  %j = phi i64 [ 0, %write ], [ %j.more, %read ]
  %sum = phi i64 [ 0, %write ], [ %sum.more, %read ]
  %r = getelementptr i64, ptr %mine, i64 %j
  %x = load volatile i64, ptr %r
  %sum.more = add i64 %sum, %x
  %j.more = add i64 %j, 1
  %reading = icmp ult i64 %j.more, 1000
  br i1 %reading, label %read, label %store
store:
  %q = getelementptr i64, ptr %p, i64 %chunk
  store i64 %sum.more, ptr %q
  ret void
}
"""

# Counts in a register up to `value`: a kernel that runs for as long as one likes.
SPIN = """
define void @spin(ptr %args, i64 %chunk, i64 %worker) {
begin:
  %p = load ptr, ptr %args
  %at = getelementptr i8, ptr %args, i64 8
  %limit = load i64, ptr %at
  br label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %i.more, %loop ]
  %i.more = add i64 %i, 1
  store volatile i64 %i.more, ptr %p
  %more = icmp ult i64 %i.more, %limit
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""

# An accumulator in memory of the stack, as renderers write it, and constants of several kinds.
STACK_SUM = """
@table = private unnamed_addr constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]
define void @stack_sum(ptr %args, i64 %chunk, i64 %worker) {
begin:
  %sum = alloca float
  %p = load ptr, ptr %args
  store float 0.5, ptr %sum
  br label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %i.more, %loop ]
  %t = getelementptr [4 x float], ptr @table, i64 0, i64 %i
  %x = load float, ptr %t
  %s = load float, ptr %sum
  %y = fadd float %s, %x
  store float %y, ptr %sum
  %i.more = add i64 %i, 1
  %more = icmp ult i64 %i.more, 4
  br i1 %more, label %loop, label %end
end:
  %r = load float, ptr %sum
  %q = getelementptr float, ptr %p, i64 %chunk
  store float %r, ptr %q
  ret void
}
"""


def program(
    name: str,
    target: Target,
    *,
    elements: int,
    chunks: int | UOp,
    dtype: str = "float32",
    values: int = 0,
    scratch_nbytes: int = 0,
    estimates: Estimates = BIG,
) -> Program:
    """The launch facts of a kernel with one buffer."""
    return Program(
        name=name,
        target=target,
        uops=(),
        grid=(chunks,),
        arguments=(Argument(getattr(dtypes, dtype), elements, read=True, written=True),),
        variables=tuple(Variable(f"v{i}", 0, 2**40) for i in range(values)),
        scratch_nbytes=scratch_nbytes,
        estimates=estimates,
    )


def compiled(text: str, facts: Program, *, flat: bool | None = None) -> Binary:
    """A kernel in LLVM IR, compiled."""
    compiler = LlvmCompiler(facts.target, flat=flat)
    return compiler.compile(Source(text, "llvm", facts.name, facts))


def compiled_c(text: str, facts: Program) -> Binary:
    """A kernel in C, compiled."""
    return CCompiler(facts.target).compile(Source(text, "c", facts.name, facts))
