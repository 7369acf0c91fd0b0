"""Solves a small game with OpenSpiel's CFR+ and prints how far from equilibrium its average policy is.

    pip install 'smear-env[openspiel]'
    python examples/openspiel_cfr.py --game mini_2p --nash-conv 0.001

NashConv is what both players together could gain by a best response, in points a deal; 0 is an equilibrium.
"""

import argparse
from collections.abc import Sequence

from open_spiel.python.algorithms.cfr import CFRPlusSolver
from open_spiel.python.algorithms.exploitability import nash_conv

from smear_env.interop.openspiel import load_game
from smear_env.rules import parse_options


def main(argv: Sequence[str] | None = None) -> float:
    """Runs until the policy is good enough, and returns its NashConv."""
    parser = argparse.ArgumentParser(description="CFR+ on a small game of smear-env, with OpenSpiel.")
    parser.add_argument("--game", default="mini_2p", help="a preset or a rules file (default mini_2p)")
    parser.add_argument("--rule", action="append", default=[], metavar="NAME=VALUE", help="change a rule, as suits=1")
    parser.add_argument("--nash-conv", type=float, default=0.001, help="stop when it is this or less (default 0.001)")
    parser.add_argument("--iterations", type=int, default=4096, help="stop after so many (default 4096)")
    arguments = parser.parse_args(argv)
    game = load_game(arguments.game, **parse_options(dict(rule.split("=", 1) for rule in arguments.rule)))

    solver, found, looked_at = CFRPlusSolver(game), float("inf"), 1
    print(f"{game}\niterations  NashConv")
    for iteration in range(1, arguments.iterations + 1):
        solver.evaluate_and_update_policy()
        if iteration == looked_at or iteration == arguments.iterations:
            found = nash_conv(game, solver.average_policy())
            print(f"{iteration:10}  {found:.6f}", flush=True)
            if found <= arguments.nash_conv:
                break
            looked_at *= 2
    return found


if __name__ == "__main__":
    main()
