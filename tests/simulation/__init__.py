"""The simulation of our own clients and broker: worlds, checkers, and planted bugs that show what the checkers see."""
