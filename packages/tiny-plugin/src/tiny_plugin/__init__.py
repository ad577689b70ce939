"""The door of tiny: contracts, artifacts, targets and the plugin registry."""
