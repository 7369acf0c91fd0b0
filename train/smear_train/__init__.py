"""Running the players of smear_agents on the games of smear_env, and the command line `smear`."""
