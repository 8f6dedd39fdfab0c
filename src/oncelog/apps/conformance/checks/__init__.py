"""The checks, a module for each area.

Called by ``runner`` through ``registry``. They may import ``conformance.raw``, ``protocol`` and ``errors``.
"""
