"""Learning by self-play: what `smear train` does."""
