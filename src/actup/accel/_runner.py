"""main(): run a script, module or command as ``python`` runs it, with ``actup.accel`` installed."""

from __future__ import annotations

import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import NoReturn

from actup.accel._takeover import TAKEOVER

ENVIRONMENT_VARIABLE = "ACTUP_ACCEL"

USAGE = """\
usage: python -m actup.accel [--quiet] script.py [argument ...]
       python -m actup.accel [--quiet] -m module [argument ...]
       python -m actup.accel [--quiet] -c command [argument ...]

Run a Python program with umap (umap-learn), openTSNE and sklearn.manifold.TSNE on ActUp.
--quiet leaves out the line that says so on standard error."""

_kept_main: list[ModuleType] = []  # the module that __main__ was before the program's


def main(arguments: list[str] | None = None) -> None:
    """Run what the command line says; exceptions end the process as those of the program itself would."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    quiet = False
    while arguments and arguments[0] in ("-q", "--quiet"):
        quiet = True
        arguments.pop(0)
    if arguments and arguments[0] in ("-h", "--help"):
        print(USAGE)
        return
    is_option = bool(arguments) and arguments[0].startswith("-")
    if not arguments or (is_option and (arguments[0] not in ("-m", "-c") or len(arguments) < 2)):
        _exit_with(USAGE)
    TAKEOVER.install(quiet=quiet)
    os.environ.setdefault(ENVIRONMENT_VARIABLE, "quiet")  # for processes that import actup, such as joblib's
    try:
        if arguments[0] == "-m":
            _run_module(arguments[1], arguments[2:])
        elif arguments[0] == "-c":
            _run_command(arguments[1], arguments[2:])
        else:
            _run_script(arguments[0], arguments[1:])
    except SystemExit:
        raise
    except BaseException as error:
        _hide_own_frames(error)
        raise


def _run_script(script: str, arguments: list[str]) -> None:
    if os.path.isdir(script) or script.endswith((".zip", ".pyz")):
        sys.argv = [script, *arguments]
        _set_first_path(script)
        runpy.run_path(script, run_name="__main__")
        return
    try:
        with open(script, "rb") as file:
            source = file.read()
    except OSError as error:
        path = os.path.abspath(script)
        _exit_with(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}")
    sys.argv = [script, *arguments]
    _set_first_path(os.path.dirname(os.path.realpath(script)))
    path = os.path.join(os.getcwd(), script)  # as Python names it: "..", also after a link, stays
    main_module = ModuleType("__main__")
    main_module.__file__ = path
    main_module.__loader__ = SourceFileLoader("__main__", path)
    _execute(compile(source, path, "exec", dont_inherit=True), main_module)


def _run_module(name: str, arguments: list[str]) -> None:
    sys.argv = [name, *arguments]  # run_module replaces the name by the path of its file
    _set_first_path(os.getcwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run_command(command: str, arguments: list[str]) -> None:
    sys.argv = ["-c", *arguments]
    _set_first_path("")
    _execute(compile(command, "<string>", "exec", dont_inherit=True), ModuleType("__main__"))


def _execute(code: CodeType, module: ModuleType) -> None:
    _kept_main.append(sys.modules["__main__"])
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _set_first_path(folder: str) -> None:
    """Put the folder where Python puts that of a program, in place of the one of ``python -m``."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _exit_with(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise SystemExit(2)


def _hide_own_frames(error: BaseException) -> None:
    """Have Python show the traceback of the program alone when the exception ends the process."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and _is_own(trace):
        trace = trace.tb_next
    show = sys.excepthook

    def show_program(kind: type[BaseException], value: BaseException, whole: TracebackType | None) -> None:
        if value is error:
            value, whole = value.with_traceback(trace), trace
        show(kind, value, whole)

    sys.excepthook = show_program


def _is_own(trace: TracebackType) -> bool:
    file = trace.tb_frame.f_code.co_filename
    return file == __file__ or file == "<frozen runpy>" or file == runpy.__file__
