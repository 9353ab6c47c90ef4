"""Options that several commands share."""

from __future__ import annotations

import argparse
import ast
import textwrap
from collections.abc import Container, Mapping
from typing import Any

from .errors import UsageError

__all__ = [
    *("TRUST", "add_assignments", "add_command", "add_interval_options", "add_options", "add_output_options"),
    *("add_storage", "assignment"),
]


# An option of commands that load an encoder.
TRUST = {
    "--trust-tokenizer": (
        False,
        "accept a tokenizer that could take unbounded time, or is imported by its name",
    )
}


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser], module: Any) -> None:
    """Adds a command to a parser.

    Args:
        commands: Subparsers of the parser.
        module: Module or class of the command: NAME, HELP, EXAMPLE, `add_arguments(parser)` and, unless it
            has subcommands, `run(options)`. Its docstring is the description.
    """
    parser = commands.add_parser(
        module.NAME,
        help=module.HELP,
        description=textwrap.fill(" ".join((module.__doc__ or "").split()), 90),
        epilog=f"example:\n{textwrap.indent(module.EXAMPLE.strip(), '  ')}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    if hasattr(module, "run"):
        add_options(
            parser,
            {
                "--threads N": (int, "threads (default: one per processor)"),
                "--debug": (False, "show the traceback of an error"),
            },
        )
        parser.set_defaults(run=module.run)


def add_options(
    parser: argparse._ActionsContainer, options: Mapping[str, tuple[Any, str]], required: Container[str] = ()
) -> None:
    """Adds options to a parser.

    Args:
        parser: Parser, or a group of it.
        options: "--name METAVAR" -> default and help text. The default False makes a flag; a type stands for
            the default None. "A B" are two values, "A ..." is at least one (a list of defaults), and
            "{a,b}" is one of these.
        required: Names of options that must be given, without hyphens.
    """
    for form, (default, text) in options.items():
        name, *metavars = form.split()
        if default is False:
            parser.add_argument(name, action="store_true", help=text)
            continue
        arguments: dict[str, Any] = {"type": default if isinstance(default, type) else type(default)}
        if isinstance(default, list):
            arguments |= {"type": type(default[0]), "default": default}
            text = f"{text} (default: {' '.join(map(str, default))})"
        elif not isinstance(default, type):
            arguments["default"] = default
            text = f"{text} (default: {default})"
        if metavars[0].startswith("{"):
            arguments["choices"] = metavars[0].strip("{}").split(",")
        elif metavars[-1] == "...":
            arguments |= {"nargs": "+", "metavar": metavars[0]}
        elif len(metavars) > 1:
            arguments |= {"nargs": len(metavars), "metavar": tuple(metavars)}
        else:
            arguments["metavar"] = metavars[0]
        parser.add_argument(name, required=name.strip("-") in required, help=text, **arguments)


def add_output_options(parser: argparse.ArgumentParser, overwrite: str) -> None:
    """Adds --overwrite, with a help text, and --quiet."""
    add_options(parser, {"--overwrite": (False, overwrite), "--quiet": (False, "no progress bar")})


def add_interval_options(parser: argparse.ArgumentParser, resamples: int) -> None:
    """Adds --resamples, with a default, and --confidence."""
    options = {
        "--resamples N": (resamples, "bootstrap resamples"),
        "--confidence LEVEL": (0.95, "confidence level of the intervals"),
    }
    add_options(parser, options)


def add_storage(parser: argparse.ArgumentParser, default: str | None, shown: str) -> None:
    """Adds --storage, the number format of word vectors; the help text shows the default as `shown`."""
    help = f"number format of the vectors (default: {shown})"
    parser.add_argument("--storage", choices=("float32", "float16", "int8"), default=default, help=help)


def add_assignments(parser: argparse._ActionsContainer, metavar: str, help: str) -> None:
    """Adds --set, which may be repeated."""
    parser.add_argument(
        "--set", action="append", default=[], metavar=metavar, help=f"{help}; may be repeated"
    )


def assignment(text: str, expected: str = "NAME=VALUE") -> tuple[str, Any]:
    """The name and the value of a --set option; a value that is no Python literal is a string.

    Args:
        text: Argument of --set.
        expected: Its form; names have a dot only if this has one.

    Raises:
        UsageError: `text` has another form.
    """
    name, equals, value = text.partition("=")
    if not equals or name.count(".") > expected.count(".") or not all(map(str.isidentifier, name.split("."))):
        raise UsageError(f"--set: expected {expected}, got {text!r}")
    constants = {"true": True, "false": False}  # of TOML
    try:
        return name, constants[value] if value in constants else ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
