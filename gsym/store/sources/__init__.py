"""Sources of modules: servers, folders, object storage."""
