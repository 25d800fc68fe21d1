"""Rating error: how far are predictions from ratings?"""
