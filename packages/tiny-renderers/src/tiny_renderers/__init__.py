"""From a tiny Program to source text: LLVM IR, C and Python."""
