"""The CPU backend of tiny: LLVM in process, threads, no toolchain."""
