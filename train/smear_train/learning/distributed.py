"""One training by several processes, on one machine or many, started by torchrun.

Every process plays its own share of an update's deals and learns from those; gradients are averaged, so all keep the
same weights. The first process (rank 0) writes and evaluates.
"""

import datetime
import os
from collections.abc import Iterable

import torch
import torch.distributed

# Its functions have the group of their import as a default. Imported by an optimizer, after the group was made, they
# would keep it for ever, and its threads would still run, and crash, while the interpreter ends.
import torch.distributed.nn.functional
from torch import nn


class World:
    """The processes of a training. Without torchrun it is this one alone.

    Args:
        device: "auto", "cpu" or "cuda".

    Attributes:
        rank, size: which process this is, and of how many.
        device: where this one learns.

    Raises:
        ValueError: a device that is not there.
    """

    def __init__(self, device: str = "auto") -> None:
        self.rank, self.size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        has_cuda = torch.cuda.is_available()
        if device not in ("auto", "cpu", "cuda"):
            raise ValueError(f"--device {device!r} is not allowed; allowed: auto, cpu, cuda")
        if device == "cuda" and not has_cuda:
            raise ValueError("--device cuda: this machine has no CUDA device that torch can use; use --device cpu")
        on_gpu = device == "cuda" or (device == "auto" and has_cuda)
        local = int(os.environ.get("LOCAL_RANK", 0)) % max(torch.cuda.device_count(), 1)
        self.device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
        if self.size > 1:
            torch.distributed.init_process_group(
                "nccl" if on_gpu else "gloo",
                timeout=datetime.timedelta(hours=2),
                device_id=self.device if on_gpu else None,
            )

    @property
    def is_first(self) -> bool:
        """Whether this process writes."""
        return self.rank == 0

    def share(self, n: int) -> slice:
        """Which of n things are this process's own."""
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def average_gradients(self, model: nn.Module) -> None:
        """Replaces the gradients by their means over all processes."""
        if self.size == 1:
            return
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        flat = torch.cat([gradient.ravel() for gradient in gradients])
        torch.distributed.all_reduce(flat)
        flat /= self.size
        for gradient, part in zip(gradients, flat.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(part.view_as(gradient))

    def sums(self, numbers: Iterable[float]) -> list[float]:
        """The sums of some numbers over all processes."""
        numbers = list(numbers)
        if self.size == 1:
            return numbers
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        torch.distributed.all_reduce(total)
        result: list[float] = total.tolist()
        return result

    def least(self, number: int) -> int:
        """The least of a number over all processes."""
        if self.size == 1:
            return number
        least = torch.tensor(number, device=self.device)
        torch.distributed.all_reduce(least, torch.distributed.ReduceOp.MIN)
        return int(least)

    def agree(self, wish: bool) -> bool:
        """Whether any process wishes so."""
        return self.sums([float(wish)])[0] > 0

    def wait(self) -> None:
        """Waits for all processes."""
        if self.size > 1:
            torch.distributed.barrier()

    def close(self) -> None:
        """Takes leave of the others."""
        if self.size > 1 and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
