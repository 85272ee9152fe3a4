"""A Pixiv-compatible server and a scripted receiver, for first steps, tests and benchmarks.

Everything is invented and generated. Start one inside a test with `async with Sandbox(SandboxOptions(seed=1)) as
sandbox`, or for a command line with `serve`.
"""

from pixivflow.sandbox.fault_schema import FaultFileError
from pixivflow.sandbox.options import Addresses, SandboxOptions
from pixivflow.sandbox.receiver import Receiver, ScriptError
from pixivflow.sandbox.server import Sandbox, serve
from pixivflow.sandbox.tls import TlsUnavailableError
from pixivflow.sandbox.world import VIEWER_ID, Frame, NovelText, Series, Work, World

__all__ = [
    "VIEWER_ID",
    "Addresses",
    "FaultFileError",
    "Frame",
    "NovelText",
    "Receiver",
    "Sandbox",
    "SandboxOptions",
    "ScriptError",
    "Series",
    "TlsUnavailableError",
    "Work",
    "World",
    "serve",
]
