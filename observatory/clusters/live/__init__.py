"""The live clusters and their targets: state, figures, agents and clocks."""
