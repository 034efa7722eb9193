"""The symbolication API: requests, answers, clients."""
