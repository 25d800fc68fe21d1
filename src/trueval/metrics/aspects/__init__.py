"""Aspect diversity: does the list cover what the user is interested in?"""
