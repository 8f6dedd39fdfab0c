"""The pages, a module for each thing they show."""
