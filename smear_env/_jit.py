"""How kernels are compiled: `kernel` is numba's `njit` with a cache that cannot go stale, or plain Python.

With `NUMBA_DISABLE_JIT=1` in the environment the same functions run un-jitted, for the debugger, for coverage
and for small property tests.

Numba notices a change in the file of a cached function, but not in the files of the functions it calls. So the
compiled code of this package lives in a folder whose name is a digest of all its sources: any change, a new one.
"""

import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

F = TypeVar("F", bound=Callable[..., Any])

Buffer: TypeAlias = Any
"""What `buffer_of` gives, to read from and to write to."""

JIT = not numba.config.DISABLE_JIT

int64: Any = np.int64
"""The 64-bit word of the kernels. For the type checker it is an int like any other."""

# The eight bits of a byte as eight numbers of one byte, and the same eight bytes as one word.
_SPREAD = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.int8)
_SPREAD_WORD = _SPREAD.view(np.int64).ravel()


def _digest(packages: tuple[Path, ...]) -> str:
    sources = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    sources.update(str(numba.config.BOUNDSCHECK).encode())
    for package in packages:
        for path in sorted(package.rglob("*.py")):
            sources.update(path.read_bytes())
    return sources.hexdigest()[:16]


def _cache_home() -> Path:
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir())
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def cache_folder(*packages: Path) -> Path | None:
    """The folder for the code compiled from some packages, made if need be; None where none can be written to."""
    name = f"smear-env-{_digest(packages)}"
    for home in (_cache_home, lambda: Path(tempfile.gettempdir())):
        try:
            folder = home() / name
            is_new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                os.utime(folder)  # it is in use, which `_remove_unused` goes by
            if is_new:
                _remove_unused(folder)
            return folder
        except (OSError, RuntimeError):  # RuntimeError: there is no home directory
            continue
    return None


_UNUSED = 30 * 24 * 3600  # seconds


def _remove_unused(new: Path) -> None:
    """Removes the folders beside a new one that no process has begun to use for 30 days: code of older versions.

    Whatever cannot be removed stays. Another process may do the same at the same time.
    """
    now = new.stat().st_mtime
    for folder in list(new.parent.glob("smear-env-" + 16 * "[0-9a-f]")):
        try:
            is_old = now - folder.stat().st_mtime > _UNUSED
        except OSError:  # just removed by another process, or a broken link
            continue
        if is_old:
            shutil.rmtree(folder, ignore_errors=True)


class Compiler:
    """The decorator `kernel` of one package, whose kernels call those of the other packages named."""

    def __init__(self, *packages: Path) -> None:
        self.folder = cache_folder(*packages) if JIT else None

    def __call__(self, function: F) -> F:
        if not JIT:
            return function
        if self.folder is None:
            return numba.njit(function)
        # Numba settles on the folder when the decorator runs, so the setting of everybody else stays as it was.
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(self.folder)
        try:
            return numba.njit(cache=True)(function)
        finally:
            numba.config.CACHE_DIR = before

    def wrapping(self, function: F) -> F:
        """A kernel whose 64-bit arithmetic is meant to wrap: NumPy, used un-jitted, would warn of it."""
        return self(function) if JIT else np.errstate(over="ignore")(function)

    def is_cold(self) -> bool:
        """Whether the kernels still have to be compiled on this machine."""
        return JIT and (self.folder is None or not any(self.folder.rglob("*.nbi")))


kernel = Compiler(Path(__file__).parent)


@functools.cache
def announce_compilation() -> None:
    """Says once, on stderr, that the first use compiles; silent when the compiled code is there already."""
    if kernel.is_cold():
        sys.stderr.write("smear-env: first use on this machine, compiling the rules (once, less than a minute)\n")
        sys.stderr.flush()


def bits_of(numbers: np.ndarray, begin: int, end: int) -> int:
    """Which of up to 63 numbers are not 0, as bits: bit k is that of numbers[begin + k].

    Compiled, an array of bytes that lie side by side is read 64 at a time in a few vector instructions, so it must
    have 64 of them or more. It is put in where it is called: an array that is handed on would have to be counted.
    """
    word = int64(0)
    for at in range(begin, end):
        word |= int64(numbers[at] != 0) << int64(at - begin)
    return word


if JIT:

    @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
    def _population_count(typing_context: Any, word: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.int64), lower

    @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
    def _trailing_zeros(typing_context: Any, word: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

        return types.int64(types.int64), lower

    @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
    def _address(typing_context: Any, buffer: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.ptrtoint(array.data, ir.IntType(64))

        return types.int64(buffer), lower

    @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
    def _store_word(typing_context: Any, address: Any, word: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
            builder.store(arguments[1], place, align=1)
            return context.get_dummy_value()

        return types.none(types.int64, types.int64), lower

    @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
    def _store_bits(typing_context: Any, address: Any, word: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(arguments[0], ir.VectorType(ir.IntType(8), 64).as_pointer())
            bits = builder.bitcast(arguments[1], ir.VectorType(ir.IntType(1), 64))
            builder.store(builder.zext(bits, ir.VectorType(ir.IntType(8), 64)), place, align=1)
            return context.get_dummy_value()

        return types.none(types.int64, types.int64), lower

    @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
    def _store_number(typing_context: Any, address: Any, number: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
            builder.store(builder.trunc(arguments[1], ir.IntType(8)), place, align=1)
            return context.get_dummy_value()

        return types.none(types.int64, types.int64), lower

    @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
    def _load(typing_context: Any, address: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))

        return types.int64(types.int64), lower

    @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
    def _load_bits(typing_context: Any, address: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(arguments[0], ir.VectorType(ir.IntType(8), 64).as_pointer())
            numbers = builder.load(place, align=1)
            bits = builder.icmp_unsigned("!=", numbers, ir.Constant(numbers.type, None))
            return builder.bitcast(bits, ir.IntType(64))

        return types.int64(types.int64), lower

    _read_singly = kernel(bits_of)

    @overload(bits_of, inline="always")  # type: ignore[untyped-decorator]  # numba has no types
    def _bits_of(numbers: np.ndarray, begin: int, end: int) -> Any:  # numba wants the very signature of `bits_of`
        if numbers.dtype != types.int8 or numbers.layout != "C":  # type: ignore[attr-defined]  # they are numba types here

            def read_singly(numbers: np.ndarray, begin: int, end: int) -> int:
                return _read_singly(numbers, begin, end)

            return read_singly

        def read_64(numbers: np.ndarray, begin: int, end: int) -> int:
            at = min(int64(begin), numbers.size - 64)  # not beyond the end
            word = _load_bits(_address(numbers) + at)
            return (word >> (begin - at)) & ((int64(1) << (end - begin)) - 1)

        return read_64

    @kernel
    def count_bits(word: int) -> int:
        """How many bits of a non-negative word are set."""
        return _population_count(int64(word))

    @kernel
    def lowest_bit(word: int) -> int:
        """The position of the lowest bit that is set in a word that is not zero."""
        return _trailing_zeros(int64(word))

    @kernel
    def buffer_of(array: np.ndarray) -> Buffer:
        """What is read and written below: the address of a contiguous array, the array itself un-jitted.

        An array that is handed on from kernel to kernel is counted at each step, atomically, which would cost more
        than all that is written; an address is not. The caller keeps the array alive and sees to the bounds.
        """
        return _address(array)

    @kernel
    def write_byte(buffer: Buffer, at: int, byte: int) -> None:
        """Writes the eight bits of a byte to buffer[at : at + 8] as eight numbers, in one store."""
        _store_word(buffer + at, _SPREAD_WORD[byte])

    @kernel
    def write_word(buffer: Buffer, at: int, word: int) -> None:
        """Writes the 64 bits of a word to buffer[at : at + 64] as 64 numbers, in a few vector instructions."""
        _store_bits(buffer + at, int64(word))

    @kernel
    def write_number(buffer: Buffer, at: int, number: int) -> None:
        """Writes a number to buffer[at]."""
        _store_number(buffer + at, int64(number))

    @kernel
    def word_at(memory: Buffer, at: int) -> int:
        """The word memory[at], where memory is the `buffer_of` an array of int64."""
        return _load(memory + 8 * at)

    @kernel
    def set_word(memory: Buffer, at: int, word: int) -> None:
        """Sets memory[at], where memory is the `buffer_of` an array of int64."""
        _store_word(memory + 8 * at, int64(word))

else:

    def count_bits(word: int) -> int:
        """How many bits of a non-negative word are set."""
        return int(word).bit_count()

    def lowest_bit(word: int) -> int:
        """The position of the lowest bit that is set in a word that is not zero."""
        word = int(word)
        return (word & -word).bit_length() - 1

    def buffer_of(array: np.ndarray) -> Buffer:
        """What is read and written below: the array laid flat."""
        return array.reshape(-1)

    def write_byte(buffer: Buffer, at: int, byte: int) -> None:
        """Writes the eight bits of a byte to buffer[at : at + 8] as eight numbers."""
        buffer[at : at + 8] = _SPREAD[byte]

    def write_word(buffer: Buffer, at: int, word: int) -> None:
        """Writes the 64 bits of a word to buffer[at : at + 64] as 64 numbers."""
        for byte in range(8):
            write_byte(buffer, at + 8 * byte, (int(word) >> (8 * byte)) & 255)

    def write_number(buffer: Buffer, at: int, number: int) -> None:
        """Writes a number to buffer[at]."""
        buffer[at] = number

    def word_at(memory: Buffer, at: int) -> int:
        """The word memory[at], where memory is the `buffer_of` an array of int64."""
        word: int = memory[at]
        return word

    def set_word(memory: Buffer, at: int, word: int) -> None:
        """Sets memory[at], where memory is the `buffer_of` an array of int64."""
        memory[at] = word
