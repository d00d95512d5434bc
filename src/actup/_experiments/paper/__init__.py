"""The experiments of the paper, one module each, and the recipes, forces and published numbers they share."""
