"""A player to ship: of a checkpoint the policy alone, and what is to be known of where it comes from."""

import hashlib
import json
from pathlib import Path
from typing import Any

from smear_agents.neural import SCHEMA, CheckpointError, checkpoint_file, policy_names

KEPT = ("game", "rules", "view", "hidden", "update", "decisions", "seconds", "best_response_to")
"""Of the data of a checkpoint."""

ABOUT_RUN = ("seed", "command", "cores", "commit", "python", "numpy", "numba", "torch")
"""Of `env.json` of its run."""


def export_player(source: str | Path, file: str | Path, half: bool = False) -> dict[str, Any]:
    """Writes the policy of a checkpoint to a file that plays like any checkpoint, and that nothing else is in.

    No critic, no optimizer, no earlier selves, and no version of smear_env: what can be read is settled by the schema.

    Args:
        source: a `.safetensors` file, or the folder of a run: its best checkpoint, or the last if none was judged.
        file: to be written; its name ends in `.safetensors`.
        half: 16 bits a weight in place of 32, for half the size. A few choices in a thousand may differ.

    Returns:
        The data written with it: those named in `KEPT`, `schema`, `algorithm`, `config` (a digest of the configuration,
        see `config_digest`), `run` (those named in `ABOUT_RUN`, as far as they are known) and `earlier` (of each run
        that its run began with the weights of: update, decisions, seconds, config as above).

    Raises:
        CheckpointError: no policy in the checkpoint, or it is of another schema or version of smear_env.
        ValueError: no such checkpoint, a name that would not be taken for a player, or that of the checkpoint itself.
        OSError: the file cannot be written; one that was there is as it was.
    """
    # Not at the head: the documentation is written with the digest below, where torch need not be installed.
    import safetensors.torch
    import torch

    from smear_train.learning.run_folder import DATA, read_checkpoint, write_whole

    path, file = checkpoint_file(source), Path(file)
    if file.suffix != ".safetensors":
        raise ValueError(f"{file} would not be taken for a player; its name has to end in .safetensors")
    if file.exists() and file.samefile(path):
        raise ValueError(f"{file} is the checkpoint itself, which training goes on from; name another file")
    checkpoint = read_checkpoint(path)
    names = policy_names(checkpoint.data)
    if missing := [name for name in names if name not in checkpoint.tensors]:
        raise CheckpointError(f"checkpoint {path} has no policy: it lacks {', '.join(missing)}")
    data = {key: checkpoint.data.get(key) for key in KEPT}
    config = checkpoint.data["config"]
    data |= {"schema": SCHEMA, "algorithm": config["algorithm"], "config": config_digest(config)}
    data["run"] = _about_run(path)
    earlier = checkpoint.data.get("earlier", [])
    data["earlier"] = [{**stage, "config": config_digest(stage["config"])} for stage in earlier]
    tensors = {name: checkpoint.tensors[name].to(torch.float16 if half else torch.float32) for name in names}
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole([file], safetensors.torch.save(tensors, {DATA: json.dumps(data)}))
    return data


def config_digest(config: dict[str, Any]) -> str:
    """Sixteen hexadecimal digits for a configuration as plain data, all defaults included."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]


def _about_run(path: Path) -> dict[str, Any]:
    """What is known of the run that a checkpoint lies in."""
    env = path.resolve().parent.parent / "env.json"
    try:
        known = json.loads(env.read_text(encoding="utf-8")) if env.is_file() else {}
    except ValueError as error:
        raise CheckpointError(f"{env} is damaged: {error}; repair it, or export a copy of the checkpoint") from error
    return {key: known[key] for key in ABOUT_RUN if key in known}
