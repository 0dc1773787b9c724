"""How pods and their containers end."""
