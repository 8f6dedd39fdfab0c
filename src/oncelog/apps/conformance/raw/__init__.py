"""Raw clients: sockets, frames and batches written by hand, so that oncelog's own codecs cannot hide their faults.

Called by the checks, by ``apps.lab`` and by the project's own tests. They may import ``protocol`` and ``errors``.
"""
