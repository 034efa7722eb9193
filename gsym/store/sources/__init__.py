"""Where modules come from: servers, folders, object storage."""
