"""The language of tiny: dtypes, UOps, rules and the rewrite engine."""
