"""Objects become flat images; damaged and impossible ones are refused."""

import struct

import llvmlite.binding as llvm
import pytest

from tiny_runtime_cpu.elf import AARCH64, X86_64, ElfError, read_elf
from tiny_runtime_cpu.image import MACHINES, ImageError, read_image
from tiny_runtime_cpu.linker import LinkError, flatten
from tiny_runtime_cpu.pool_code import EXPORTS, pool_text

CALLS_OUT = """
declare float @fmodf(float, float)
define void @k(ptr %args, i64 %chunk, i64 %worker) {
  %p = load ptr, ptr %args
  %x = load float, ptr %p
  %y = call float @fmodf(float %x, float 3.0)
  store float %y, ptr %p
  ret void
}
"""
TWO_FUNCTIONS = """
@c = private unnamed_addr constant [2 x i64] [i64 7, i64 35]
define i64 @inner(i64 %i) noinline {
  %p = getelementptr [2 x i64], ptr @c, i64 0, i64 %i
  %v = load i64, ptr %p
  ret i64 %v
}
define i64 @outer() {
  %a = call i64 @inner(i64 0)
  %b = call i64 @inner(i64 1)
  %s = add i64 %a, %b
  ret i64 %s
}
"""


def object_of(text: str, machine: str = "x86_64") -> bytes:
    """An ELF object for a machine, whichever this one is."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = f"{machine}-unknown-linux-gnu"
    maker = llvm.Target.from_triple(triple).create_target_machine(
        opt=2, reloc="pic", codemodel="small"
    )
    module = llvm.parse_assembly(text)
    module.triple = triple
    data: bytes = maker.emit_object(module)
    return data


def test_an_image_lists_the_names_it_was_asked_for() -> None:
    image = read_image(flatten([object_of(TWO_FUNCTIONS)], ["outer"]))
    assert list(image.exports) == ["outer"]
    assert image.imports == {}
    assert image.relatives == ()
    assert image.machine == X86_64


def test_objects_of_one_image_find_each_other() -> None:
    user = "declare i64 @inner(i64)\ndefine i64 @user() { %r = call i64 @inner(i64 1) ret i64 %r }"
    image = read_image(flatten([object_of(user), object_of(TWO_FUNCTIONS)], ["user", "outer"]))
    assert image.imports == {}


def test_a_name_defined_twice_is_refused() -> None:
    with pytest.raises(LinkError, match="twice"):
        flatten([object_of(TWO_FUNCTIONS)] * 2, ["outer"])


def test_a_call_outside_is_refused_by_name() -> None:
    with pytest.raises(LinkError, match="'fmodf'"):
        flatten([object_of(CALLS_OUT)], ["k"])


def test_an_allowed_call_outside_becomes_an_import() -> None:
    image = read_image(flatten([object_of(CALLS_OUT)], ["k"], {"fmodf"}))
    assert list(image.imports.values()) == ["fmodf"]
    assert all(offset % 8 == 0 for offset in image.imports)


def test_an_entry_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(LinkError, match=r"'missing' is not defined.*inner"):
        flatten([object_of(TWO_FUNCTIONS)], ["missing"])


def test_memory_that_a_kernel_keeps_is_refused() -> None:
    text = "@state = global i64 1\ndefine void @k() { store i64 2, ptr @state ret void }"
    with pytest.raises(LinkError, match="writable"):
        flatten([object_of(text)], ["k"])


def test_tables_of_addresses_wait_for_the_address_of_the_image() -> None:
    text = (
        TWO_FUNCTIONS + "@t = constant [2 x ptr] [ptr @inner, ptr @outer]\n"
        "define ptr @pick(i64 %i) {\n"
        "  %p = getelementptr [2 x ptr], ptr @t, i64 0, i64 %i\n"
        "  %f = load ptr, ptr %p\n  ret ptr %f\n}\n"
    )
    image = read_image(flatten([object_of(text)], ["pick"]))
    assert len(image.relatives) == 2


@pytest.mark.parametrize("kind", ["not ELF", "cut off", "other class"])
def test_bytes_that_are_no_object_are_refused(kind: str) -> None:
    whole = object_of(TWO_FUNCTIONS)
    broken = {
        "not ELF": b"hello world" * 20,
        "cut off": whole[: len(whole) // 2],
        "other class": whole[:4] + b"\1" + whole[5:],
    }[kind]
    with pytest.raises(LinkError):
        flatten([broken], ["outer"])
    with pytest.raises(ElfError):
        read_elf(broken)


def test_every_changed_byte_of_an_image_is_noticed() -> None:
    image = flatten([object_of(TWO_FUNCTIONS)], ["outer"])
    assert read_image(image).exports
    for position in range(len(image)):
        broken = bytearray(image)
        broken[position] ^= 0x40
        with pytest.raises(ImageError):
            read_image(bytes(broken))


def test_every_shorter_image_is_refused() -> None:
    image = flatten([object_of(TWO_FUNCTIONS)], ["outer"])
    for length in range(0, len(image), 11):
        with pytest.raises(ImageError):
            read_image(image[:length])


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_the_pool_needs_no_symbols_on_any_machine(machine: str) -> None:
    text = pool_text(machine)
    assert text is not None
    image = read_image(flatten([object_of(text, machine)], EXPORTS))
    assert set(image.exports) == set(EXPORTS)
    assert image.imports == {}
    assert image.machine == MACHINES[machine]


def test_machines_without_a_pool_say_so() -> None:
    assert pool_text("sparc") is None


def test_arm_references_point_where_they_should() -> None:
    image = flatten([object_of(TWO_FUNCTIONS, "aarch64")], ["outer", "inner"])
    facts = read_image(image)
    assert facts.machine == AARCH64
    words = struct.unpack(f"<{len(image) // 4}I", image[: len(image) // 4 * 4])
    outer, inner = facts.exports["outer"] // 4, facts.exports["inner"] // 4
    targets = [i + _signed(w & 0x3FFFFFF, 26) for i, w in enumerate(words) if w >> 26 == 0x25]
    assert targets.count(inner) == 2
    assert outer != inner
    # inner: adrp x, page of c ; add x, x, low part of c
    adrp = next(i for i in range(inner, inner + 8) if words[i] & 0x9F000000 == 0x90000000)
    add = next(i for i in range(adrp, adrp + 4) if words[i] & 0xFFC00000 == 0x91000000)
    pages = _signed((words[adrp] >> 29 & 3) | (words[adrp] >> 5 & 0x7FFFF) << 2, 21)
    address = (adrp * 4 >> 12) + pages << 12 | words[add] >> 10 & 0xFFF
    assert image[address : address + 16] == struct.pack("<2q", 7, 35)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value
