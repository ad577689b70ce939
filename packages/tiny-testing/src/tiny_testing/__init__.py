"""The conformance kit for backends of tiny."""

from tiny_testing.backend_suite import BackendSuite

__all__ = ["BackendSuite"]
