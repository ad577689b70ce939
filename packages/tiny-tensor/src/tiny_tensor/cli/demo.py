"""`tiny demo`: trains a network on handwritten digits, and says what that took."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from time import perf_counter

from tiny_ir import ArgumentError
from tiny_tensor.demo import Digits, Plan, Step, digits, progress_bar, train
from tiny_tensor.session import Session, current_session

TINY_API = (1, 0)


class Demo:
    """The command."""

    name = "demo"
    summary = "train a small network on handwritten digits"

    def run(self, arguments: Sequence[str]) -> int:
        """Train, with a progress bar, and print how it went."""
        parsed = _parser().parse_args(arguments)
        plan = Plan(parsed.epochs, parsed.batch, parsed.learning_rate, parsed.seed)
        _check(plan)
        start = perf_counter()
        with Session(device=parsed.device) as session:
            session.device(session.default_device)
            data = digits()
            _check_batch(plan, data)
            last = _trained(data, plan)
            _report(session, data, last, perf_counter() - start)
        return 0


def command() -> Demo:
    """Make the command."""
    return Demo()


def _parser() -> argparse.ArgumentParser:
    default = Plan()
    parser = argparse.ArgumentParser("tiny demo", description=f"{Demo.summary}.")
    parser.add_argument("--epochs", type=int, default=default.epochs, help="of all images")
    parser.add_argument("--batch", type=int, default=default.batch, help="images of a step")
    parser.add_argument("--learning-rate", type=float, default=default.learning_rate)
    parser.add_argument("--device", default=None, help="where to train; the setting by default")
    parser.add_argument("--seed", type=int, default=default.seed)
    return parser


def _check(plan: Plan) -> None:
    for name, value in (("epochs", plan.epochs), ("batch", plan.batch)):
        if value < 1:
            raise ArgumentError(
                f"--{name} cannot be {value}.",
                why="there is at least one.",
                fix=f"leave it out, or pass --{name} with a number from 1.",
            )


def _check_batch(plan: Plan, data: Digits) -> None:
    if not plan.steps_an_epoch(data):
        raise ArgumentError(
            f"--batch cannot be {plan.batch}.",
            why=f"there are {data.count} images to learn from.",
            fix="choose a smaller batch.",
        )


def _trained(data: Digits, plan: Plan) -> Step:
    """Train to the end, with a progress bar."""
    with progress_bar(plan.epochs * plan.steps_an_epoch(data)) as bar:
        read = ""
        for step in train(data, plan):
            if step.accuracy is not None:
                read = f", test {step.accuracy:.1%}"
            bar.set_description(
                f"epoch {step.epoch}/{plan.epochs}, loss {step.loss:.3f}{read}", refresh=False
            )
            bar.update()
    return step


def _report(session: Session, data: Digits, last: Step, seconds: float) -> None:
    assert current_session() is session, "the counters are those of the demo"
    counters = session.counters
    target = session.device(session.default_device).target
    print(
        f"test accuracy   {last.accuracy:.2%} of {len(data.test_labels)} images "
        f"(loss {last.loss:.4f})\n"
        f"device          {session.default_device}: {target.arch or target.name}, "
        f"{target.cores} at a time\n"
        f"kernels         {counters.kernels} launched; {counters.binaries} compiled, "
        f"{counters.cached_binaries} found on disk\n"
        f"compiling       {counters.compile_seconds:.2f} s\n"
        f"running         {counters.run_seconds:.2f} s\n"
        f"all together    {seconds:.2f} s"
    )
