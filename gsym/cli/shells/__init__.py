"""What shells and man show of the commands, made from the declared options."""
