"""The conformance kit for backends of tiny."""
