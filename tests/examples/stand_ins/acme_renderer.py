"""A renderer that is not ours: Python for the compiler "python", and a comment that says so."""

from __future__ import annotations

from tiny_ir import ELEMENTWISE, DType, Op, UOp
from tiny_plugin import Program, Source, Target

TINY_API = (1, 0)


class AcmeRenderer:
    name = "acme"
    language = "python"

    def __init__(self, target: Target) -> None:
        self.target = target

    def render(self, program: Program) -> Source:
        names = [f"data{n}" for n in range(len(program.arguments))]
        names += [f"value{n}" for n in range(len(program.variables))]
        names += [f"grid{n}" for n in range(len(program.grid))]
        variables = [variable.name for variable in program.variables]
        lines = [f"def {program.name}({', '.join(names)}):", "    # rendered by acme"]
        values: dict[UOp, str] = {}
        depth = 1
        for node in program.uops:
            operands = [values.get(source, "") for source in node.src]
            values[node] = f"v{len(values)}"
            text = ""
            match node.op:
                case Op.CONST:
                    values[node] = f"({node.arg!r})"
                case Op.PARAM:
                    values[node] = f"data{node.arg.slot}"
                case Op.VARIABLE:
                    values[node] = f"value{variables.index(node.arg.name)}"
                case Op.SPECIAL:
                    values[node] = node.arg
                case Op.AFTER:
                    values[node] = operands[0]
                case Op.RANGE:
                    text = f"for {values[node]} in range({operands[0]}):"
                case Op.END:
                    depth -= sum(source.op is Op.RANGE for source in node.src)
                case Op.INDEX:
                    values[node] = f"{operands[0]}.@({operands[1]})"
                case Op.LOAD:
                    read = operands[0].replace("@", "read")
                    gated = f"{read} if {operands[-1]} else {operands[1]}" if operands[1:] else read
                    text = f"{values[node]} = {gated}"
                case Op.STORE:
                    written = f"{operands[0]} = {operands[1]}"
                    if "@" in operands[0]:
                        written = operands[0].replace("@(", "write(")[:-1] + f", {operands[1]})"
                    text = f"if {operands[2]}: {written}" if operands[2:] else written
                case op if op in ELEMENTWISE:
                    dtypes = ", ".join(map(spelled, [node.dtype, *(s.dtype for s in node.src)]))
                    text = (
                        f"{values[node]} = meaning(Op.{op.name}, {dtypes})({', '.join(operands)})"
                    )
            if text:
                lines.append("    " * depth + text)
            if node.op is Op.RANGE:
                depth += 1
                lines.append("    " * depth + "pass")
        return Source("\n".join(lines) + "\n", self.language, program.name, program)


def spelled(dtype: DType) -> str:
    return "dtypes.bool_" if dtype.is_bool else f"dtypes.{dtype.name}"


def renderer(target: Target) -> AcmeRenderer:
    return AcmeRenderer(target)
