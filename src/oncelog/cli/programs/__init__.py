"""Commands that run something: the broker, pipelines, the console, the mirror, tests of any broker.

Called by ``cli.main``. They may import ``cli.shared`` and everything below ``cli``.
"""
