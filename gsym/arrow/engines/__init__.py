"""The kernel in engines that pass Arrow batches around; each needs its own package."""
