"""Commands that run something: the broker, pipelines, the console, the mirror, tests of any broker."""
