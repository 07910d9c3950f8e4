"""The ledger of claims."""
