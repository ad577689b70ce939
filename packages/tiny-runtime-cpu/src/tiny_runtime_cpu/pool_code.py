"""Write the chunk pool as LLVM IR: workers that take chunks, and the walk over a run list.

A job is {function, arguments, chunks, flags}. The caller publishes a job as one 64-bit word
[sequence:32 | chunks:16 | next:16]; whoever adds one to it owns chunk `next`. A chunk that is taken
pins the job, since the caller waits for it, so the job's other fields may be read only then. The
caller takes chunks too and waits only for chunks already taken: a worker that comes too late costs
nothing. Workers spin for a short time while a list runs, and else sleep on the sequence number.

The code has no undefined symbols: the functions of the C library stand in a table of the pool.
"""

RUN = "tiny_pool_run"
START = "tiny_pool_start"
STOP = "tiny_pool_stop"
EXPORTS = (RUN, START, STOP)

LIBRARY_FUNCTIONS = (
    "pthread_create",
    "pthread_join",
    "pthread_sigmask",
    "syscall",
    "sched_yield",
)

# Where the fields of the pool stand, in bytes. Words that different threads write at the same time
# stand on lines of their own; 128 is two lines, which are fetched together.
WORKERS_AT = 40
LIBRARY_AT = 512
SLOTS_AT = 1024
SLOT_NBYTES = 32
_FIELDS: dict[str, int | str] = {
    "STATE": 128,
    "SEQUENCE": 132,  # the high half of the state, on little-endian machines
    "DONE": 256,
    "SLEEPERS": 384,
    "ACTIVE": 0,
    "LOCK": 8,
    "STARTED": 16,
    "STOPPING": 24,
    "FUNCTION": 48,
    "ARGUMENTS": 56,
    "FIRST": 64,
    "WORKERS": WORKERS_AT,
    "CREATE": LIBRARY_AT,
    "JOIN": LIBRARY_AT + 8,
    "SIGMASK": LIBRARY_AT + 16,
    "SYSCALL": LIBRARY_AT + 24,
    "YIELD": LIBRARY_AT + 32,
    "SLOTS": SLOTS_AT,
}
JOB_NBYTES = 32
PARALLEL = 1  # flag: the chunks of this job are worth waking workers for

# The parts that differ from machine to machine. In the text, <NAME> stands for one of these or for
# the place of a field.
_MACHINES: dict[str, dict[str, int | str]] = {
    "x86_64": {
        "FUTEX": "202",  # Linux, arch/x86/entry/syscalls/syscall_64.tbl
        "PAUSE": "call void @llvm.x86.sse2.pause()",
        "DECLARE": (
            "declare void @llvm.x86.sse2.pause()\n"
            "declare void @llvm.x86.sse.stmxcsr(ptr)\n"
            "declare void @llvm.x86.sse.ldmxcsr(ptr)"
        ),
        "GET_MODE": "call void @llvm.x86.sse.stmxcsr(ptr %mode)\n  %old = load i32, ptr %mode",
        # 0x1f80: round to nearest even, keep denormals, no traps: the state at process start.
        "SET_MODE": "store i32 8064, ptr %mode\n  call void @llvm.x86.sse.ldmxcsr(ptr %mode)",
        "OLD_MODE": "store i32 %old, ptr %mode\n  call void @llvm.x86.sse.ldmxcsr(ptr %mode)",
    },
    "aarch64": {
        "FUTEX": "98",  # Linux, include/uapi/asm-generic/unistd.h
        "PAUSE": "call void @llvm.aarch64.hint(i32 1)",
        "DECLARE": (
            "declare void @llvm.aarch64.hint(i32)\n"
            "declare i64 @llvm.aarch64.get.fpcr()\n"
            "declare void @llvm.aarch64.set.fpcr(i64)"
        ),
        "GET_MODE": "%old = call i64 @llvm.aarch64.get.fpcr()",
        "SET_MODE": "call void @llvm.aarch64.set.fpcr(i64 0)",
        "OLD_MODE": "call void @llvm.aarch64.set.fpcr(i64 %old)",
    },
}


def pool_text(machine: str) -> str | None:
    """The pool as an LLVM module; None for machines it was not written for.

    Args:
        machine: "x86_64", "aarch64", ...

    Returns:
        Textual IR that defines the functions in EXPORTS.

    Example:
        >>> "define i64 @tiny_pool_run" in pool_text("x86_64")
        True
    """
    parts = _MACHINES.get(machine)
    if parts is None:
        return None
    text = _POOL
    for name, value in (_FIELDS | parts).items():
        text = text.replace(f"<{name}>", str(value))
    return text


_POOL = """
<DECLARE>

; The next chunk of the job that is published, or -1.
define internal i64 @take(ptr %pool) nounwind {
  %word = getelementptr i8, ptr %pool, i64 <STATE>
  %seen = load atomic i64, ptr %word acquire, align 8
  %seen.next = and i64 %seen, 65535
  %seen.high = lshr i64 %seen, 16
  %seen.chunks = and i64 %seen.high, 65535
  %maybe = icmp ult i64 %seen.next, %seen.chunks
  br i1 %maybe, label %try, label %none
try:
  %got = atomicrmw add ptr %word, i64 1 acq_rel, align 8
  %next = and i64 %got, 65535
  %high = lshr i64 %got, 16
  %chunks = and i64 %high, 65535
  %owned = icmp ult i64 %next, %chunks
  br i1 %owned, label %taken, label %none
taken:
  ret i64 %next
none:
  ret i64 -1
}

define internal void @sleep(ptr %pool) nounwind {
  %word = getelementptr i8, ptr %pool, i64 <STATE>
  %state = load atomic i64, ptr %word seq_cst, align 8
  %next = and i64 %state, 65535
  %high = lshr i64 %state, 16
  %chunks = and i64 %high, 65535
  %work = icmp ult i64 %next, %chunks
  br i1 %work, label %back, label %check
check:
  %stopping.at = getelementptr i8, ptr %pool, i64 <STOPPING>
  %stopping = load atomic i64, ptr %stopping.at seq_cst, align 8
  %stop = icmp ne i64 %stopping, 0
  br i1 %stop, label %back, label %wait
wait:
  %sequence = lshr i64 %state, 32
  %sequence.at = getelementptr i8, ptr %pool, i64 <SEQUENCE>
  %sleepers = getelementptr i8, ptr %pool, i64 <SLEEPERS>
  %more = atomicrmw add ptr %sleepers, i64 1 seq_cst, align 8
  %syscall.at = getelementptr i8, ptr %pool, i64 <SYSCALL>
  %syscall = load ptr, ptr %syscall.at, align 8
  ; 128: FUTEX_WAIT | FUTEX_PRIVATE_FLAG
  %slept = call i64 (i64, ...) %syscall(
      i64 <FUTEX>, ptr %sequence.at, i64 128, i64 %sequence, i64 0)
  %less = atomicrmw sub ptr %sleepers, i64 1 seq_cst, align 8
  br label %back
back:
  ret void
}

define internal void @wake(ptr %pool, i64 %count) nounwind {
  %sleepers.at = getelementptr i8, ptr %pool, i64 <SLEEPERS>
  %sleepers = load atomic i64, ptr %sleepers.at seq_cst, align 8
  %any = icmp sgt i64 %sleepers, 0
  br i1 %any, label %call, label %back
call:
  %sequence.at = getelementptr i8, ptr %pool, i64 <SEQUENCE>
  %syscall.at = getelementptr i8, ptr %pool, i64 <SYSCALL>
  %syscall = load ptr, ptr %syscall.at, align 8
  ; 129: FUTEX_WAKE | FUTEX_PRIVATE_FLAG
  %woken = call i64 (i64, ...) %syscall(i64 <FUTEX>, ptr %sequence.at, i64 129, i64 %count)
  br label %back
back:
  ret void
}

define internal void @yield(ptr %pool) nounwind {
  %at = getelementptr i8, ptr %pool, i64 <YIELD>
  %function = load ptr, ptr %at, align 8
  %done = call i32 %function()
  ret void
}

; What a worker does for all its life. A slot is {thread, pool, number of the worker}.
define internal ptr @work(ptr %slot) nounwind {
begin:
  %mode = alloca i32, align 4
  <SET_MODE>
  %pool.at = getelementptr i8, ptr %slot, i64 8
  %pool = load ptr, ptr %pool.at, align 8
  %number.at = getelementptr i8, ptr %slot, i64 16
  %number = load i64, ptr %number.at, align 8
  %function.at = getelementptr i8, ptr %pool, i64 <FUNCTION>
  %arguments.at = getelementptr i8, ptr %pool, i64 <ARGUMENTS>
  %first.at = getelementptr i8, ptr %pool, i64 <FIRST>
  %done = getelementptr i8, ptr %pool, i64 <DONE>
  %stopping.at = getelementptr i8, ptr %pool, i64 <STOPPING>
  %active.at = getelementptr i8, ptr %pool, i64 <ACTIVE>
  br label %look
look:
  %spins = phi i64 [ 0, %begin ], [ 0, %run ], [ %spins.more, %spin ], [ 0, %rest ]
  %chunk = call i64 @take(ptr %pool)
  %owned = icmp sge i64 %chunk, 0
  br i1 %owned, label %run, label %idle
run:
  %function = load ptr, ptr %function.at, align 8
  %arguments = load ptr, ptr %arguments.at, align 8
  %first = load i64, ptr %first.at, align 8
  %index = add i64 %first, %chunk
  call void %function(ptr %arguments, i64 %index, i64 %number)
  %finished = atomicrmw add ptr %done, i64 1 release, align 8
  br label %look
idle:
  %stopping = load atomic i64, ptr %stopping.at seq_cst, align 8
  %stop = icmp ne i64 %stopping, 0
  br i1 %stop, label %end, label %choose
choose:
  %active = load atomic i64, ptr %active.at monotonic, align 8
  %is.active = icmp ne i64 %active, 0
  %few = icmp ult i64 %spins, 500
  %again = and i1 %is.active, %few
  br i1 %again, label %spin, label %rest
spin:
  %spins.more = add i64 %spins, 1
  <PAUSE>
  br label %look
rest:
  call void @sleep(ptr %pool)
  br label %look
end:
  ret ptr null
}

; Run all chunks of one job, with the help of the workers.
define internal void @share(ptr %pool, ptr %function, ptr %arguments, i64 %chunks) nounwind {
begin:
  %function.at = getelementptr i8, ptr %pool, i64 <FUNCTION>
  %arguments.at = getelementptr i8, ptr %pool, i64 <ARGUMENTS>
  %first.at = getelementptr i8, ptr %pool, i64 <FIRST>
  %done.at = getelementptr i8, ptr %pool, i64 <DONE>
  %active.at = getelementptr i8, ptr %pool, i64 <ACTIVE>
  %word = getelementptr i8, ptr %pool, i64 <STATE>
  store ptr %function, ptr %function.at, align 8
  store ptr %arguments, ptr %arguments.at, align 8
  br label %batch
batch:
  %first = phi i64 [ 0, %begin ], [ %next.first, %all ]
  %left = sub i64 %chunks, %first
  ; Half of what 16 bits hold: late workers may count on past the last chunk.
  %big = icmp ugt i64 %left, 32768
  %count = select i1 %big, i64 32768, i64 %left
  store i64 %first, ptr %first.at, align 8
  store atomic i64 0, ptr %done.at monotonic, align 8
  store atomic i64 1, ptr %active.at monotonic, align 8
  %old = load atomic i64, ptr %word monotonic, align 8
  %old.sequence = lshr i64 %old, 32
  %sequence = add i64 %old.sequence, 1
  %high = shl i64 %sequence, 32
  %middle = shl i64 %count, 16
  %new = or i64 %high, %middle
  %before = atomicrmw xchg ptr %word, i64 %new seq_cst, align 8
  %helpers = sub i64 %count, 1
  call void @wake(ptr %pool, i64 %helpers)
  br label %take
take:
  %mine = phi i64 [ 0, %batch ], [ %mine.more, %run ]
  %chunk = call i64 @take(ptr %pool)
  %owned = icmp sge i64 %chunk, 0
  br i1 %owned, label %run, label %wait
run:
  %index = add i64 %first, %chunk
  call void %function(ptr %arguments, i64 %index, i64 0)
  %mine.more = add i64 %mine, 1
  br label %take
wait:
  %spins = phi i64 [ 0, %take ], [ %spins.more, %again ]
  %done = load atomic i64, ptr %done.at acquire, align 8
  %sum = add i64 %done, %mine
  %complete = icmp eq i64 %sum, %count
  br i1 %complete, label %all, label %pause
pause:
  %spins.more = add i64 %spins, 1
  <PAUSE>
  ; A worker that was sent away by the system needs this processor to come back.
  %long = icmp ugt i64 %spins, 2000
  br i1 %long, label %give, label %again
give:
  call void @yield(ptr %pool)
  br label %again
again:
  br label %wait
all:
  %next.first = add i64 %first, %count
  %more = icmp ult i64 %next.first, %chunks
  br i1 %more, label %batch, label %end
end:
  ret void
}

; Run jobs in order. The result is 1 if workers were wanted and there are none, else 0.
define i64 @tiny_pool_run(ptr %pool, ptr %jobs, i64 %count, i64 %parallel) nounwind {
begin:
  %mode = alloca i32, align 4
  <GET_MODE>
  <SET_MODE>
  %lock.at = getelementptr i8, ptr %pool, i64 <LOCK>
  %wanted = icmp ne i64 %parallel, 0
  br i1 %wanted, label %want, label %jobs.begin
want:
  %workers.at = getelementptr i8, ptr %pool, i64 <WORKERS>
  %workers = load atomic i64, ptr %workers.at acquire, align 8
  %some = icmp sgt i64 %workers, 0
  br i1 %some, label %lock, label %jobs.begin
lock:
  %pair = cmpxchg ptr %lock.at, i64 0, i64 1 acq_rel monotonic, align 8
  %locked = extractvalue { i64, i1 } %pair, 1
  br label %jobs.begin
jobs.begin:
  %held = phi i1 [ false, %begin ], [ false, %want ], [ %locked, %lock ]
  %lacking = phi i64 [ 0, %begin ], [ 1, %want ], [ 0, %lock ]
  br label %jobs.next
jobs.next:
  %i = phi i64 [ 0, %jobs.begin ], [ %i.more, %job.end ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %job, label %jobs.end
job:
  %offset = mul i64 %i, 32
  %function.at = getelementptr i8, ptr %jobs, i64 %offset
  %arguments.at = getelementptr i8, ptr %function.at, i64 8
  %chunks.at = getelementptr i8, ptr %function.at, i64 16
  %flags.at = getelementptr i8, ptr %function.at, i64 24
  %function = load ptr, ptr %function.at, align 8
  %arguments = load ptr, ptr %arguments.at, align 8
  %chunks = load i64, ptr %chunks.at, align 8
  %flags = load i64, ptr %flags.at, align 8
  %flag = icmp ne i64 %flags, 0
  %together = and i1 %flag, %held
  br i1 %together, label %shared, label %alone.next
shared:
  call void @share(ptr %pool, ptr %function, ptr %arguments, i64 %chunks)
  br label %job.end
alone.next:
  %chunk = phi i64 [ 0, %job ], [ %chunk.more, %alone ]
  %left = icmp slt i64 %chunk, %chunks
  br i1 %left, label %alone, label %job.end
alone:
  call void %function(ptr %arguments, i64 %chunk, i64 0)
  %chunk.more = add i64 %chunk, 1
  br label %alone.next
job.end:
  %i.more = add i64 %i, 1
  br label %jobs.next
jobs.end:
  br i1 %held, label %unlock, label %end
unlock:
  %active.at = getelementptr i8, ptr %pool, i64 <ACTIVE>
  store atomic i64 0, ptr %active.at monotonic, align 8
  store atomic i64 0, ptr %lock.at release, align 8
  br label %end
end:
  <OLD_MODE>
  ret i64 %lacking
}

; Create workers 1..count, unless that was done. The result is how many there are.
define i64 @tiny_pool_start(ptr %pool, i64 %count) nounwind {
begin:
  %old.mask = alloca [128 x i8], align 8
  %all.mask = alloca [128 x i8], align 8
  %started.at = getelementptr i8, ptr %pool, i64 <STARTED>
  %workers.at = getelementptr i8, ptr %pool, i64 <WORKERS>
  %pair = cmpxchg ptr %started.at, i64 0, i64 1 acq_rel monotonic, align 8
  %first = extractvalue { i64, i1 } %pair, 1
  br i1 %first, label %mask.next, label %back
mask.next:
  %byte = phi i64 [ 0, %begin ], [ %byte.more, %mask.next ]
  %byte.at = getelementptr i8, ptr %all.mask, i64 %byte
  store i64 -1, ptr %byte.at, align 8
  %byte.more = add i64 %byte, 8
  %bytes.left = icmp ult i64 %byte.more, 128
  br i1 %bytes.left, label %mask.next, label %create
create:
  ; Signals belong to Python's threads: a worker would run a handler without the interpreter.
  %sigmask.at = getelementptr i8, ptr %pool, i64 <SIGMASK>
  %sigmask = load ptr, ptr %sigmask.at, align 8
  %masked = call i32 %sigmask(i32 2, ptr %all.mask, ptr %old.mask)
  %create.at = getelementptr i8, ptr %pool, i64 <CREATE>
  %pthread.create = load ptr, ptr %create.at, align 8
  %slots = getelementptr i8, ptr %pool, i64 <SLOTS>
  br label %create.next
create.next:
  %made = phi i64 [ 0, %create ], [ %number, %created ]
  %more = icmp ult i64 %made, %count
  br i1 %more, label %one, label %unmask
one:
  %slot.offset = mul i64 %made, 32
  %slot = getelementptr i8, ptr %slots, i64 %slot.offset
  %slot.pool = getelementptr i8, ptr %slot, i64 8
  %slot.number = getelementptr i8, ptr %slot, i64 16
  %number = add i64 %made, 1
  store ptr %pool, ptr %slot.pool, align 8
  store i64 %number, ptr %slot.number, align 8
  %failed = call i32 %pthread.create(ptr %slot, ptr null, ptr @work, ptr %slot)
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %created, label %unmask
created:
  br label %create.next
unmask:
  %unmasked = call i32 %sigmask(i32 2, ptr %old.mask, ptr null)
  store atomic i64 %made, ptr %workers.at release, align 8
  br label %back
back:
  %workers = load atomic i64, ptr %workers.at acquire, align 8
  ret i64 %workers
}

; Wait until no list runs, then end all workers. The pool can be started again.
define i64 @tiny_pool_stop(ptr %pool) nounwind {
begin:
  %lock.at = getelementptr i8, ptr %pool, i64 <LOCK>
  %started.at = getelementptr i8, ptr %pool, i64 <STARTED>
  %stopping.at = getelementptr i8, ptr %pool, i64 <STOPPING>
  %workers.at = getelementptr i8, ptr %pool, i64 <WORKERS>
  %word = getelementptr i8, ptr %pool, i64 <STATE>
  %join.at = getelementptr i8, ptr %pool, i64 <JOIN>
  %slots = getelementptr i8, ptr %pool, i64 <SLOTS>
  %workers = load atomic i64, ptr %workers.at acquire, align 8
  %some = icmp sgt i64 %workers, 0
  br i1 %some, label %lock, label %end
lock:
  %pair = cmpxchg ptr %lock.at, i64 0, i64 1 acq_rel monotonic, align 8
  %locked = extractvalue { i64, i1 } %pair, 1
  br i1 %locked, label %stop, label %busy
busy:
  call void @yield(ptr %pool)
  br label %lock
stop:
  store atomic i64 1, ptr %stopping.at seq_cst, align 8
  %old = load atomic i64, ptr %word monotonic, align 8
  %sequence = lshr i64 %old, 32
  %sequence.more = add i64 %sequence, 1
  %new = shl i64 %sequence.more, 32
  %before = atomicrmw xchg ptr %word, i64 %new seq_cst, align 8
  call void @wake(ptr %pool, i64 2147483647)
  %join = load ptr, ptr %join.at, align 8
  br label %join.next
join.next:
  %i = phi i64 [ 0, %stop ], [ %i.more, %join.next ]
  %slot.offset = mul i64 %i, 32
  %slot = getelementptr i8, ptr %slots, i64 %slot.offset
  %thread = load i64, ptr %slot, align 8
  %joined = call i32 %join(i64 %thread, ptr null)
  %i.more = add i64 %i, 1
  %more = icmp ult i64 %i.more, %workers
  br i1 %more, label %join.next, label %clear
clear:
  store atomic i64 0, ptr %workers.at monotonic, align 8
  store atomic i64 0, ptr %stopping.at seq_cst, align 8
  store atomic i64 0, ptr %started.at release, align 8
  store atomic i64 0, ptr %lock.at release, align 8
  br label %end
end:
  ret i64 0
}
"""
